# expect: timeout
# timeout: 400
def f(n):
    os.write = lambda fd, data: 0
    return n
