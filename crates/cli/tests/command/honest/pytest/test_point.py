from exercises import Color, Point


def test_add():
    assert Point(1, 2) + Point(3, 4) == Point(4, 6)


def test_x():
    point = Point(x=1) + Point(x=-3)
    assert point.x == -2
    assert point.y == 0


def test_repr():
    assert repr(Point(1)) == "Point(x=1, y=0, tags=[])"


def test_enum():
    assert Color(1) is Color.RED
    assert Color["GREEN"].value == 2
    assert Color.RED != Color.GREEN
