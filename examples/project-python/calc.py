"""Small sums."""


def total(numbers):
    return sum(numbers)


def mean(numbers):
    if not numbers:
        raise ValueError("the mean of nothing")
    return total(numbers) / len(numbers)
