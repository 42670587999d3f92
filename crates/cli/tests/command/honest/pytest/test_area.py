import math

import pytest
from pytest import approx

from exercises import area, mean


def test_area():
    assert area(1) == pytest.approx(3.14159265)


def test_area_tolerance():
    assert area(2) == approx(12.6, abs=0.1)


def test_area_pi():
    assert area(1) == approx(math.pi)


def test_isclose():
    assert math.isclose(mean([1, 2, 4]), 7 / 3)


def test_mean():
    assert mean([0.1, 0.2]) == approx(0.15)
    assert [mean([1]), mean([2, 3])] == approx([1, 2.5])


def test_abs():
    assert abs(mean([1, 2]) - 1.5) < 1e-9


def test_no_numbers():
    with pytest.raises(ZeroDivisionError):
        mean([])
