import unittest

from exercises import roman


class Case(unittest.TestCase):
    longMessage = True

    def setUp(self):
        self.cases = [(1, "I"), (9, "IX")]


class TestRoman(Case):
    def test_cases(self):
        for number, text in self.cases:
            self.assertEqual(roman(number), text)

    def test_long(self):
        self.assertMultiLineEqual(roman(3999), "MMMCMXCIX")

    def test_zero(self):
        with self.assertRaises(ValueError) as error:
            roman(0)
        self.assertEqual(type(error.exception), ValueError)
        self.assertEqual(error.exception.args[0], "only positive numbers")

    def test_regex(self):
        with self.assertRaisesRegex(ValueError, "positive"):
            roman(0)

    def test_call(self):
        self.assertRaises(ValueError, roman, 0)
