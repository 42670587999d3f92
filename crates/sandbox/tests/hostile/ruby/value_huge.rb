# expect: output_limit
def f(n) = 'x' * 10_000_000
