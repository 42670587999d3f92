# expect: memory_limit
def f(n):
    return len(bytearray(1 << 30))
