# expect: output_limit
def f(n):
    while True:
        for fd in range(3, 16):
            try:
                os.write(fd, b'V1\n' * 5000)
            except OSError:
                pass
