# expect: value "held"
def f(n):
    flags = dict(ns=0x20000, cgroup=0x2000000, uts=0x4000000, ipc=0x8000000, user=0x10000000, pid=0x20000000, net=0x40000000, time=0x80)
    attacks = {"unshare " + k: lambda v=v: syscall("unshare", v) for k, v in flags.items()}
    def clones(flag):
        def attack():
            pid = syscall("clone", flag | 17, 0, 0, 0, 0)
            if pid == 0:
                os._exit(0)
        return attack
    attacks.update({"clone " + k: clones(v) for k, v in flags.items() if k != "time"})
    def clone3():
        args = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
        if syscall("clone3", ctypes.byref(args), 88) == 0:
            os._exit(0)
    attacks["clone3"] = clone3
    attacks["setns"] = lambda: syscall("setns", syscall("pidfd_open", os.getpid(), 0), 0x10000000)
    return tried(attacks)
