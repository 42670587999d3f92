from exercises import rle


def test_codes():
    for text, code in [("", ""), ("XYZ", "XYZ"), ("AABBBCCCC", "2A3B4C")]:
        assert rle(text) == code


def test_spaces():
    assert rle("  hsqq qww  ") == "2 hs2q q2w2 "
