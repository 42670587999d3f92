# expect: no_answer
def f(n):
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3, 64):
        if fd != null:
            os.dup2(null, fd)
    return n
