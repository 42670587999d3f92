# expect: signal 11
# then: value 2
def f(n):
    if n == 1:
        return 2
    ctypes.string_at(0)
