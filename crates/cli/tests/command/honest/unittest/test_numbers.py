import unittest

from exercises import area, mean, primes


class NumbersTest(unittest.TestCase):
    def test_almost(self):
        self.assertAlmostEqual(area(1), 3.14159265, 6)
        self.assertAlmostEqual(mean([0.1, 0.2]), 0.15)

    def test_delta(self):
        self.assertAlmostEqual(area(2), 12.6, delta=0.1)

    def test_order(self):
        self.assertGreater(area(2), area(1))
        self.assertLessEqual(mean([1, 2]), 2)

    def test_instance(self):
        self.assertIsInstance(mean([1]), float)

    def test_tuple(self):
        self.assertEqual(tuple(primes(5)), (2, 3, 5))

    def test_length(self):
        self.assertEqual(len(primes(100)), 25)

    def test_error(self):
        with self.assertRaises(ZeroDivisionError):
            mean([])

    def test_not_equal(self):
        self.assertNotEqual(mean([1]), 2)
