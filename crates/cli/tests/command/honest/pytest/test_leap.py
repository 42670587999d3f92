import pytest

from exercises import leap


@pytest.mark.parametrize("year", [2000, 2004, 1996])
def test_leap(year):
    assert leap(year) is True


@pytest.mark.parametrize("year", [1900, 2001])
def test_common(year):
    assert not leap(year)


class TestLeap:
    @pytest.mark.parametrize(("year", "expected"), [pytest.param(2400, True, id="long"), pytest.param(2100, False, id="century")])
    def test_century(self, year, expected):
        assert leap(year) == expected
