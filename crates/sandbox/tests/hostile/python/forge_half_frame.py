# expect: no_answer
def f(n):
    for fd in range(3, 64):
        try:
            os.write(fd, b'V"no end of line')
        except OSError:
            pass
    os._exit(0)
