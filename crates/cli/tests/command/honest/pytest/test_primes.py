from exercises import primes


def test_none():
    assert primes(1) == []


def test_ten():
    assert primes(10) == [2, 3, 5, 7]


def test_many():
    found = primes(1000)
    assert len(found) == 168
    assert found[-1] == 997
    assert all(number % 2 for number in found[1:])
