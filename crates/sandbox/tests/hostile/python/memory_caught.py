# expect: own
# timeout: 500
def f(n):
    keep = []
    while True:
        try:
            keep.append(bytearray(1_000_000))
        except MemoryError:
            pass
