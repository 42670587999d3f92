# expect: timeout
# mode: stdio
# timeout: 600
# A pipe refilled faster than it is read must not hold the clock up.
import fcntl
for fd in (1, 2):
    try:
        fcntl.fcntl(fd, 1031, 1 << 20)
    except OSError:
        pass
r, w = os.pipe()
try:
    fcntl.fcntl(w, 1031, 1 << 20)
except OSError:
    pass
os.set_blocking(w, False)
try:
    while True:
        os.write(w, bytes(65536))
except BlockingIOError:
    pass
def pour():
    while True:
        _libc.syscall(NR["tee"], r, 2, 1 << 20, 0)
fork(pour)
fork(pour)
pour()
