# expect: output_limit
def f(n):
    return "x" * 10_000_000
