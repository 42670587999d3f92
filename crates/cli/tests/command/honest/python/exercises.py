"""Solutions of small exercises."""
import asyncio
import math
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction


def hello(name="World"):
    return f"Hello, {name}!"


def leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def roman(number):
    if number <= 0:
        raise ValueError("only positive numbers")
    text = ""
    for value, letters in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        while number >= value:
            text += letters
            number -= value
    return text


def hamming(one, other):
    if len(one) != len(other):
        raise ValueError("Strands must be of equal length.")
    return sum(a != b for a, b in zip(one, other))


def words(text):
    counts = {}
    for word in text.lower().split():
        word = word.strip(".,!?:;'\"")
        if word:
            counts[word] = counts.get(word, 0) + 1
    return counts


def triangle(a, b, c):
    if min(a, b, c) <= 0 or a + b < c or b + c < a or a + c < b:
        return None
    return {1: "equilateral", 2: "isosceles", 3: "scalene"}[len({a, b, c})]


def primes(limit):
    sieve = [True] * (limit + 1)
    for number in range(2, int(limit ** 0.5) + 1):
        if sieve[number]:
            for multiple in range(number * number, limit + 1, number):
                sieve[multiple] = False
    return [number for number in range(2, limit + 1) if sieve[number]]


def area(radius):
    return math.pi * radius ** 2


def mean(numbers):
    return sum(numbers) / len(numbers)


def transpose(rows):
    return [list(row) for row in zip(*rows)]


def allergies(score):
    names = ["eggs", "peanuts", "shellfish", "strawberries", "tomatoes", "chocolate", "pollen", "cats"]
    return {name for index, name in enumerate(names) if score >> index & 1}


def rle(text):
    out = ""
    while text:
        count = len(text) - len(text.lstrip(text[0]))
        out += (str(count) if count > 1 else "") + text[0]
        text = text[count:]
    return out


class Account:
    def __init__(self):
        self.is_open = False
        self.balance = None

    def open(self):
        if self.is_open:
            raise ValueError("account already open")
        self.is_open, self.balance = True, 0

    def deposit(self, amount):
        if not self.is_open:
            raise ValueError("account not open")
        if amount <= 0:
            raise ValueError("amount must be greater than 0")
        self.balance += amount


class Color(Enum):
    RED = 1
    GREEN = 2


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list = field(default_factory=list)

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


class StackError(IndexError):
    pass


class Stack:
    def __init__(self, items=()):
        self.items = list(items)

    def pop(self):
        if not self.items:
            raise StackError("empty")
        return self.items.pop()

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(reversed(self.items))


def half(number):
    return Fraction(number, 2)


def price(text):
    return Decimal(text).quantize(Decimal("0.01"))


def count_up(limit):
    yield from range(1, limit + 1)


async def later(value):
    await asyncio.sleep(0)
    return value


def to_bytes(text):
    return text.encode()


def lookup(table, key):
    return table.get(key)


def greet_file(path, name):
    with open(path, "w") as file:
        file.write(hello(name))
