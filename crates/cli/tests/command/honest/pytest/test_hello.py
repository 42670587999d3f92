import exercises


def test_default():
    assert exercises.hello() == "Hello, World!"


def test_name():
    assert exercises.hello("Ada") == "Hello, Ada!"


def test_unicode():
    assert exercises.hello("Zoë ☃") == "Hello, Zoë ☃!"


def test_empty():
    assert "Hello, !" == exercises.hello("")
