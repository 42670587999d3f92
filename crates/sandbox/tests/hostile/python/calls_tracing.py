# expect: value "held"
def f(n):
    child = fork(lambda: time.sleep(60))
    local, remote = (ctypes.c_uint64 * 2)(), (ctypes.c_uint64 * 2)()
    targets = {"child": child, "parent": os.getppid(), "first": 1, "supervisor": int("@PID@")}
    attacks = {"traceme": lambda: syscall("ptrace", 0, 0, 0, 0)}
    for name, pid in targets.items():
        attacks["attach " + name] = lambda pid=pid: syscall("ptrace", 16, pid, 0, 0)
        attacks["seize " + name] = lambda pid=pid: syscall("ptrace", 0x4206, pid, 0, 0)
        attacks["read " + name] = lambda pid=pid: syscall("process_vm_readv", pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        attacks["write " + name] = lambda pid=pid: syscall("process_vm_writev", pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        attacks["fd " + name] = lambda pid=pid: syscall("pidfd_getfd", syscall("pidfd_open", pid, 0), 0, 0)
        attacks["kcmp " + name] = lambda pid=pid: syscall("kcmp", pid, os.getpid(), 0, 0, 0)
    return tried(attacks)
