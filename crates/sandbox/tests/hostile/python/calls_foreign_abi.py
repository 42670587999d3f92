# expect: value "held" | signal 31
# The numbers of another ABI must not slip past the filter.
import mmap
def f(n):
    if os.uname().machine != "x86_64":
        return "held"
    x32 = tried({"x32 unshare": lambda: syscall(0x40000000 | 272, 0x10000000), "x32 socket": lambda: syscall(0x40000000 | 41, 2, 1, 0),
                 "x32 ptrace": lambda: syscall(0x40000000 | 521, 0, 0, 0, 0)})
    if x32 != "held":
        return x32
    code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
    code.write(bytes([0x53, 0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0x5B, 0xC3]))
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    return "got through: getpid of 32 bits says %d" % call()
