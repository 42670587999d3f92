from exercises import triangle


class TestTriangle:
    def test_equilateral(self):
        assert triangle(2, 2, 2) == "equilateral"

    def test_floats(self):
        assert triangle(0.5, 0.4, 0.6) == "scalene"

    def test_none(self):
        assert triangle(0, 0, 0) is None

    def test_unequal(self):
        assert triangle(1, 1, 3) != "isosceles"


class TestMore:
    kind = "isosceles"

    def test_kind(self):
        assert triangle(3, 4, 4) == self.kind

    def test_in(self):
        assert triangle(3, 4, 5) in ("scalene", "isosceles")
