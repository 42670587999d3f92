import asyncio
import os

from exercises import greet_file, later, lookup


def test_file(tmp_path):
    path = tmp_path / "a.txt"
    greet_file(path, "Ada")
    assert path.read_text() == "Hello, Ada!"


def test_print(capsys):
    print("a", 1)
    assert capsys.readouterr().out == "a 1\n"


def test_patch(monkeypatch):
    monkeypatch.setenv("NAME", "x")
    assert os.environ["NAME"] == "x"


def test_later():
    assert asyncio.run(later(3)) == 3


def test_lookup():
    assert lookup({"a": 1}, "a") == 1
    assert lookup({}, "a") is None
    assert lookup({}, "a") == None


def test_with(tmp_path):
    with open(tmp_path / "b", "w") as file:
        assert file.write("abc") == 3
