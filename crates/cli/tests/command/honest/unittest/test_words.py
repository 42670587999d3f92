import unittest
from unittest import TestCase

from exercises import allergies, transpose, words


class WordsTest(TestCase):
    def test_dict(self):
        self.assertDictEqual(words("a b a"), {"a": 2, "b": 1})

    def test_list(self):
        self.assertListEqual(
            transpose([[1, 2]]),
            [
                [1],
                [2],
            ],
        )

    def test_set(self):
        self.assertSetEqual(allergies(3), {"eggs", "peanuts"})

    def test_count(self):
        self.assertCountEqual(words("b a"), ["a", "b"])

    def test_in(self):
        self.assertIn("a", words("a"))
        self.assertNotIn("b", words("a"))

    def test_none(self):
        self.assertIsNone(words("a").get("b"))
        self.assertIsNotNone(words("a").get("a"))

    @unittest.skip("later")
    def test_skipped(self):
        self.assertEqual(1, 2)

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(words("a"), {})
