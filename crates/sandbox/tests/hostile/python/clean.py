# expect: value 1
def f(n):
    return n + 1
