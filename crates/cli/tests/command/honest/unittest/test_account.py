import unittest

from exercises import Account


class AccountTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.limit = 10

    def setUp(self):
        self.account = Account()
        self.account.open()
        self.addCleanup(lambda: None)

    def test_balance(self):
        self.account.deposit(self.limit)
        self.assertEqual(self.account.balance, self.limit)

    def test_negative(self):
        with self.assertRaises(ValueError) as context:
            self.account.deposit(-1)
        self.assertEqual("amount must be greater than 0", str(context.exception))

    def assertOpen(self):
        self.assertTrue(self.account.is_open)

    def test_helper(self):
        self.assertOpen()


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def test_later(self):
        from exercises import later
        self.assertEqual(await later(3), 3)
