# expect: value "held"
# expect C: value "held" | unavailable
# disk: 4
def f(n):
    fd = os.open("/tmp/hostile-file", os.O_CREAT | os.O_RDWR)
    return tried({
        "truncate": lambda: os.ftruncate(fd, 1 << 40),
        "allocate": lambda: os.posix_fallocate(fd, 0, 64 << 20),
        "pwrite": lambda: os.pwrite(fd, b"x", 1 << 40),
    })
