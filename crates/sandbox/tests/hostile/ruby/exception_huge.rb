# expect: raised RuntimeError
def f(n) = raise('x' * 5_000_000)
