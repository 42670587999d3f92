# expect: memory_limit
# memory: 40
# Each page of another kind than its neighbours is a mapping of its own.
def f(n):
    protect = _libc.mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    def split():
        start = _libc.mmap(None, 60_000 * 4096, 0, 0x4022, -1, 0)
        for page in range(0, 60_000, 2):
            protect(start + page * 4096, 4096, 1)
        time.sleep(600)
    for _ in range(14):
        fork(split)
    time.sleep(600)
