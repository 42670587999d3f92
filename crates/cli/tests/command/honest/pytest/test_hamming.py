from exercises import hamming
import pytest


def test_empty(): assert hamming("", "") == 0
def test_one():   assert hamming("A", "G") == 1; assert hamming("AA", "GG") == 2
def test_long():
    assert hamming(
        "GGACGGATTCTG",
        "AGGACGGATTCT",
    ) == 9


@pytest.mark.parametrize("one, other", [("A", ""), ("", "B")])
def test_lengths(one, other):
    with pytest.raises((ValueError, KeyError)):
        hamming(one, other)
