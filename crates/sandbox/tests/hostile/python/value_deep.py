# expect: raised Unsupported
def f(n):
    value = []
    for _ in range(100000):
        value = [value]
    return value
