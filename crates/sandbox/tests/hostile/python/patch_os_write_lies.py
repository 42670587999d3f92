# expect: no_answer
def f(n):
    os.write = lambda fd, data: len(data)
    return n
