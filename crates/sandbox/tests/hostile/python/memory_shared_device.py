# expect: memory_limit | raised OSError | raised PermissionError
# A shared mapping of /dev/zero is memory under another name.
import mmap
def f(n):
    size, step = 512 << 20, 8 << 20
    fd = os.open("/dev/zero", os.O_RDONLY)
    _libc.mmap.restype = ctypes.c_void_p
    at = _libc.mmap(None, ctypes.c_size_t(size), 1, 1, fd, ctypes.c_long(0))
    if at in (None, 2**64 - 1):
        raise OSError(ctypes.get_errno(), "mmap")
    for start in range(0, size, step):
        for page in range(start, start + step, 4096):
            ctypes.string_at(at + page, 1)
        _libc.madvise(ctypes.c_void_p(at + start), ctypes.c_size_t(step), 4)
    return "512 MiB of a shared device"
