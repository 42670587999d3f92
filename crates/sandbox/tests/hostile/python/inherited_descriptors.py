# expect: value "held"
import fcntl, stat
def f(n):
    there = []
    for fd in range(1024):
        try:
            there.append((fd, stat.S_IFMT(os.fstat(fd).st_mode)))
        except OSError:
            pass
    pipes = [fd for fd, kind in there if fd > 2 and kind == stat.S_IFIFO]
    rest = [fd for fd, kind in there if fd > 2 and kind != stat.S_IFIFO]
    return "held" if len(pipes) <= 1 and not rest else "got %r" % (there,)
