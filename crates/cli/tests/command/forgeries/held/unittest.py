import unittest

from stock import Stock, total


class TestStock(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2, 3]), 6)

    def test_empty(self):
        self.assertEqual(total([]), 0)

    def test_name(self):
        self.assertEqual(Stock("ab").name(), "ab")

    def test_missing(self):
        with self.assertRaises(KeyError):
            Stock("ab").take("c")

    def test_count(self):
        self.assertEqual(Stock("ab").count(), 2)
