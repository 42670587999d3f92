# expect: no_answer
def f(n):
    os.closerange(0, 1024)
    return n
