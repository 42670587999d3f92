# mode: command
# expect: ran held
# expect C: unavailable
def f(n):
    def opens(path, mode):
        return lambda: open(path, mode, buffering=0).close()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    strangers = [pid for pid in pids if pid not in (1, os.getpid(), os.getppid())]
    if len(pids) > 3 and strangers:
        return f"sees {strangers}"
    buffer = ctypes.create_string_buffer(16)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
    pointer = ctypes.addressof(vector)
    attacks = {}
    for pid in (1, int("@PID@"), 2):
        if pid == os.getpid():
            continue
        for name in ("mem", "environ", "maps", "root/etc/passwd", "cwd/x", "exe", "auxv", "stack", "syscall"):
            attacks[f"{name} of {pid}"] = lambda path=f"/proc/{pid}/{name}": open(path, "rb", buffering=0).read(1)
        for number in range(12):
            for mode in ("rb", "wb"):
                attacks[f"descriptor {number} of {pid} {mode}"] = opens(f"/proc/{pid}/fd/{number}", mode)
        attacks[f"write to memory of {pid}"] = opens(f"/proc/{pid}/mem", "r+b")
        attacks[f"namespace of {pid}"] = lambda pid=pid: syscall("setns", os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0)
        attacks[f"trace {pid}"] = lambda pid=pid: syscall("ptrace", 16, pid, 0, 0)
        attacks[f"read {pid}"] = lambda pid=pid: syscall("process_vm_readv", pid, pointer, 1, pointer, 1, 0)
        attacks[f"take a descriptor of {pid}"] = lambda pid=pid: syscall("pidfd_getfd", os.pidfd_open(pid), 0, 0)
    attacks["kill a process of the host"] = lambda: os.kill(int("@PID@"), 0)
    attacks["trace oneself"] = lambda: syscall("ptrace", 0, 0, 0, 0)
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        try:
            os.kill(1, number)
        except OSError:
            pass
    # The init is there and has lost none of its pipes, or this answer would not arrive.
    return tried(attacks)
