import pytest

from exercises import allergies


@pytest.fixture
def names():
    return {"eggs", "peanuts"}


def test_two(names):
    assert allergies(3) == names


def test_one():
    assert allergies(1) == {"eggs"}


def test_no():
    assert allergies(0) == set()


def test_member():
    assert "cats" in allergies(128)
    assert "eggs" not in allergies(128)
