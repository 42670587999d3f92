import pytest

from stock import Stock, total


def test_total():
    assert total([1, 2, 3]) == 6


def test_empty():
    assert total([]) == 0


@pytest.mark.parametrize("items, expected", [([1], 1), ([2, 2], 4)])
def test_each(items, expected):
    assert total(items) == expected


def test_name():
    assert Stock("ab").name() == "ab"


def test_missing():
    with pytest.raises(KeyError):
        Stock("ab").take("c")


class TestStock:
    def test_count(self):
        assert Stock("ab").count() == 2
