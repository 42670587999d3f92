# expect: value "held" | memory_limit | raised OSError
# expect C: value "held" | memory_limit | raised OSError | unavailable
# disk: 4
# Files that no mapping holds are memory all the same.
def f(n):
    total = 0
    try:
        for _ in range(100):
            fd = os.memfd_create("x")
            for _ in range(4):
                total += os.write(fd, bytes(1 << 20))
    except OSError:
        pass
    return "held" if total <= 80 << 20 else "%d MiB in memfds" % (total >> 20)
