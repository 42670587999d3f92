# expect: value "held"
import resource
def f(n):
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    return tried({
        "setuid": lambda: os.setuid(0),
        "setresuid": lambda: os.setresuid(0, 0, 0),
        "setgid": lambda: os.setgid(0),
        "setgroups": lambda: os.setgroups([0]),
        "capset": lambda: syscall("capset", ctypes.byref(header), ctypes.byref(data)),
        "ambient": lambda: _libc.prctl(47, 2, 21, 0, 0) == 0,
        "bounding": lambda: _libc.prctl(39, 0, 0, 0, 0) == 0,
        "uid": lambda: os.getuid() == 0 or os.geteuid() == 0,
        "nice": lambda: os.nice(-5),
        "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    })
