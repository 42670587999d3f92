from decimal import Decimal
from fractions import Fraction

from exercises import count_up, half, price, to_bytes


def test_half():
    assert half(3) == Fraction(3, 2)
    assert half(4) == 2


def test_half_float():
    assert half(1) == 0.5


def test_price():
    assert price("1.005") == Decimal("1.00")


def test_generator():
    assert list(count_up(3)) == [1, 2, 3]
    assert next(iter(count_up(1))) == 1


def test_bytes():
    assert to_bytes("a\n") == b"a\n"


def test_big():
    assert 2 ** 64 == 18446744073709551616


def test_negative():
    assert half(-1) * 2 == -1


def test_exponent():
    assert float(half(2)) * 1e3 == 1e3
