# expect: value | raised BrokenPipeError
# then: value "clean"
# What the zygote inherits to its leaves may not be filled for the next one.
def f(n):
    if n == 1:
        return "clean"
    for fd in (0, 1, 2):
        try:
            os.set_blocking(fd, False)
            for _ in range(100):
                os.write(fd, bytes(65536))
        except OSError:
            pass
    return "flooded"
