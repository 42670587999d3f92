import unittest

from exercises import hello


class HelloTest(unittest.TestCase):
    def test_default(self):
        self.assertEqual(hello(), "Hello, World!")

    def test_name(self):
        self.assertEqual("Hello, Ada!", hello("Ada"), "says the name")

    def test_many(self):
        for name in ("a", "b"):
            with self.subTest(name=name):
                self.assertEqual(hello(name), f"Hello, {name}!")


if __name__ == "__main__":
    unittest.main()
