# expect: signal 6 | signal 11
# then: value 2
def f(n):
    if n == 1:
        return 2
    os.abort()
