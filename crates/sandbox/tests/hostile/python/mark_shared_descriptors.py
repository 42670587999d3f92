# expect: value
# then: value "clean"
# Flags belong to the open file, which every case could share with the zygote.
import fcntl
F_SETSIG, F_GETSIG, F_SETPIPE_SZ, F_GETPIPE_SZ = 10, 11, 1031, 1032
def marks():
    found = []
    for fd in range(3):
        for get in (F_GETSIG, F_GETPIPE_SZ, fcntl.F_GETFL, fcntl.F_GETOWN):
            try:
                found.append(fcntl.fcntl(fd, get))
            except OSError:
                found.append(None)
    return found
def f(n):
    before = marks()
    for fd in range(3):
        for call in (lambda: fcntl.fcntl(fd, F_SETSIG, 42), lambda: fcntl.fcntl(fd, F_SETPIPE_SZ, 8192),
                     lambda: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)):
            try:
                call()
            except OSError:
                pass
    marked = [now for now in before if now == 42 or now == 8192 or (now is not None and now & os.O_NONBLOCK)]
    return "clean" if not marked else "the case before left %r" % (before,)
