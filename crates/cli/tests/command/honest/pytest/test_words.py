from exercises import words


def test_counts():
    assert words("one fish two fish") == {"one": 1, "fish": 2, "two": 1}


def test_none():
    assert words("") == {}


def test_marks():
    found = words("car: carpet as java: javascript!!&@$%^&")
    expected = {"car": 1, "carpet": 1, "as": 1, "java": 1}
    expected["javascript!!&@$%^&"] = 1
    assert found == expected


def test_keys():
    assert sorted(words("b a b")) == ["a", "b"]
    assert list(words("b a b").values()) == [2, 1]
