# expect: value "held" | memory_limit | raised OSError
import fcntl
def f(n):
    total = 0
    try:
        while True:
            r, w = os.pipe()
            try:
                fcntl.fcntl(w, 1031, 1 << 20)
            except OSError:
                pass
            os.set_blocking(w, False)
            try:
                while True:
                    total += os.write(w, bytes(65536))
            except BlockingIOError:
                pass
    except OSError:
        pass
    return "held" if total <= 80 << 20 else "%d MiB in pipes" % (total >> 20)
