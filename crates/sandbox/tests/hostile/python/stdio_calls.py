# expect: text held
# mode: stdio
# What the warm cell of whole programs may do for its next case, a program may not.
import stat
def descriptors():
    for fd in range(3, 1024):
        try:
            # The interpreter has the program itself open.
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
        except OSError:
            pass
    return False
attacks = {"descriptors": descriptors}
flags = dict(ns=0x20000, cgroup=0x2000000, uts=0x4000000, ipc=0x8000000, user=0x10000000, pid=0x20000000, net=0x40000000, time=0x80)
attacks.update({"unshare " + k: lambda v=v: syscall("unshare", v) for k, v in flags.items()})
def clones(flag):
    def attack():
        if syscall("clone", flag | 17, 0, 0, 0, 0) == 0:
            os._exit(0)
    return attack
attacks.update({"clone " + k: clones(v) for k, v in flags.items() if k != "time"})
def capabilities(*sets):
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    return lambda: syscall("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)(*sets)))
attacks["capset"] = capabilities(1 << 21, 1 << 21, 1 << 21)
attacks["capset to nothing"] = capabilities()
def init(call, *arguments):
    return lambda: syscall(call, syscall("pidfd_open", 1, 0), *arguments)
attacks["setns to itself"] = lambda: syscall("setns", syscall("pidfd_open", os.getpid(), 0), 0x20000000)
attacks["setns to init"] = init("setns", 0x20000000)
attacks.update({"descriptor %d of init" % fd: init("pidfd_getfd", fd, 0) for fd in range(12)})
attacks["memory of init"] = lambda: syscall("process_vm_readv", 1, ctypes.create_string_buffer(16), 1,
    ctypes.create_string_buffer(16), 1, 0)
attacks["tracing init"] = lambda: syscall("ptrace", 16, 1, 0, 0)
attacks["limits of init"] = lambda: syscall("prlimit64", 1, 7, 0, ctypes.byref((ctypes.c_uint64 * 2)()))
attacks["processor of init"] = lambda: syscall("sched_setaffinity", 1, 8, ctypes.byref(ctypes.c_uint64(1)))
attacks["priority of init"] = lambda: os.setpriority(os.PRIO_PROCESS, 1, 7)
def ambient():
    return _libc.prctl(47, 1, 21, 0, 0) == 1 or _libc.prctl(47, 2, 21, 0, 0) == 0
attacks["ambient capability"] = ambient
def held():
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _libc.capget(ctypes.byref(header), ctypes.byref(data))
    return any(data)
attacks["capabilities"] = held
print(tried(attacks))
