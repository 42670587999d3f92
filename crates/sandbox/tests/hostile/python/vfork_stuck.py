# expect: timeout
# timeout: 400
# The parent waits uninterruptibly for a child that never ends.
def f(n):
    _libc.vfork.restype = ctypes.c_int
    if syscall("clone", 0x4000 | 17, 0, 0, 0, 0) == 0:
        while True:
            _libc.pause()
    return "never"
