# expect: value "held"
def f(n):
    try:
        fd = os.memfd_create("x")
    except OSError:
        return "held"
    return tried({
        "write": lambda: os.write(fd, b"x"),
        "truncate": lambda: os.ftruncate(fd, 1 << 20),
        "allocate": lambda: os.posix_fallocate(fd, 0, 1 << 20),
    })
