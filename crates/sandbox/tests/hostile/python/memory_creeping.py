# expect: memory_limit
def f(n):
    keep = []
    while True:
        keep.append(bytearray(100_000))
