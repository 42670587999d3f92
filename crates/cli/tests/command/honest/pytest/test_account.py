import pytest

from exercises import Account


@pytest.fixture
def account():
    account = Account()
    account.open()
    return account


def test_new(account):
    assert account.balance == 0


def test_deposit(account):
    account.deposit(100)
    account.deposit(50)
    assert account.balance == 150


def test_open_twice(account):
    with pytest.raises(ValueError, match="already open") as caught:
        account.open()
    assert type(caught.value) == ValueError
    assert str(caught.value) == "account already open"


def test_closed():
    with pytest.raises(Exception):
        Account().deposit(1)


def test_state(account):
    assert account.is_open


def test_type():
    assert isinstance(Account(), Account)
