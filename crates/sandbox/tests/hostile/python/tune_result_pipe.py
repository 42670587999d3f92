# expect: own
import fcntl
def f(n):
    for fd in range(64):
        for call in (lambda: fcntl.fcntl(fd, 1031, 1 << 20), lambda: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_DIRECT | os.O_NONBLOCK),
                     lambda: fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid()), lambda: fcntl.fcntl(fd, 10, signal.SIGKILL)):
            try:
                call()
            except OSError:
                pass
    return "x" * 60000
