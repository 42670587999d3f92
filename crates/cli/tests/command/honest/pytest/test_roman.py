import pytest

from exercises import roman

CASES = {1: "I", 4: "IV", 1994: "MCMXCIV"}


@pytest.mark.parametrize("number", CASES)
def test_cases(number):
    assert roman(number) == CASES[number]


def test_all_cases():
    for number, text in CASES.items():
        assert roman(number) == text, f"{number} is {text}"


def test_zero():
    with pytest.raises(ValueError, match="positive"):
        roman(0)


def test_zero_message():
    with pytest.raises(ValueError) as error:
        roman(-1)
    assert error.value.args[0] == "only positive numbers"


def test_type():
    with pytest.raises(TypeError):
        roman("x")
