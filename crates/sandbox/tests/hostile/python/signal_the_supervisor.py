# expect: value "held"
import resource
def f(n):
    pid = int("@PID@")
    info = ctypes.create_string_buffer(128)
    parents = range(max(2, pid - 3), pid + 30)
    return tried({
        "kill": lambda: os.kill(pid, 0),
        "killpg": lambda: os.killpg(pid, 0),
        "pidfd": lambda: syscall("pidfd_send_signal", syscall("pidfd_open", pid, 0), 0, None, 0),
        "tgkill": lambda: syscall("tgkill", pid, pid, 0),
        "sigqueue": lambda: syscall("rt_sigqueueinfo", pid, 34, info),
        "prlimit": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE),
        "setpriority": lambda: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid)),
        "neighbours": lambda: any(signals(p) for p in parents if p != os.getpid()),
    })
def signals(pid):
    try:
        os.kill(pid, 0)
        return True
    except OSError:
        return False
