# expect: raised Exception | output_limit | memory_limit
def f(n):
    raise Exception("x" * 20_000_000)
