from exercises import transpose


def test_square():
    assert transpose([[1, 2], [3, 4]]) == [
        [1, 3],
        [2, 4],
    ]


def test_row():
    assert transpose([[1, 2, 3]]) == [[1], [2], [3]]


def test_twice():
    rows = [[1, 2], [3, 4], [5, 6]]
    assert transpose(transpose(rows)) == rows


def test_empty():
    assert transpose([]) == []
