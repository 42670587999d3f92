import unittest

from exercises import leap


class LeapTest(unittest.TestCase):
    def test_year_divisible_by_4_not_divisible_by_100_in_leap_year(self):
        self.assertIs(leap(1996), True)

    def test_true(self):
        self.assertTrue(leap(2000))

    def test_false(self):
        self.assertFalse(leap(1900))

    def test_equal(self):
        self.assertEqual(leap(2001), False)
