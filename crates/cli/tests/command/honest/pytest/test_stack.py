import pytest

from exercises import Stack, StackError


def test_pop():
    stack = Stack([1, 2])
    assert (stack.pop(), len(stack)) == (2, 1)


def test_order():
    assert list(Stack("abc")) == ["c", "b", "a"]


def test_empty():
    with pytest.raises(StackError):
        Stack().pop()


def test_parent():
    with pytest.raises(IndexError) as error:
        Stack().pop()
    assert "empty" in str(error.value)


def test_after():
    stack = Stack()
    try:
        stack.pop()
    except StackError as error:
        assert str(error) == "empty"
    else:
        pytest.fail("did not raise")


def test_len():
    assert len(Stack()) == 0
    assert not Stack()
