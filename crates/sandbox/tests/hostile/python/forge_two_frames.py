# expect: no_answer
def f(n):
    for fd in range(3, 64):
        try:
            os.write(fd, b'V"forged"\n')
        except OSError:
            pass
    return "true"
