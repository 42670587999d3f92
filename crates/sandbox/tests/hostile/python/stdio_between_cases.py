# expect: text clean
# then: text clean
# expect C: own
# then C: own
# mode: stdio
# Both cases run in one warm cell. Each leaves what it can, and looks for what the other left.
import fcntl, resource, select, time
KEY, NAME = 0x1234567, b"/hostile-mark"
found = []
def note(what, seen):
    if seen:
        found.append(what)
def quietly(work):
    try:
        return work()
    except (OSError, ValueError):
        return None

note("umask", os.umask(0) != 0o022)
note("folder", os.getcwd() != "/")
note("niceness", os.getpriority(os.PRIO_PROCESS, 0) != 0)
note("session", os.getsid(0) != os.getpid() or os.getpgid(0) != os.getpid() or os.getppid() != 1 or os.getpid() != 2)
note("ignored signals", any(signal.getsignal(number) == signal.SIG_IGN for number in (1, 2, 3, 14, 15, 17)
    if signal.getsignal(number) is not None and number != 13))
note("blocked signals", signal.pthread_sigmask(signal.SIG_BLOCK, []))
note("pending signals", signal.sigpending())
note("timer", signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0))
note("host name", os.uname().nodename != "sandbox")
note("processors", len(os.sched_getaffinity(0)) < 1)
note("processor time", time.process_time() > 2)
note("other processes", [pid for pid in range(3, 100) if quietly(lambda: os.kill(pid, 0) or True)])
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_STACK):
    note("limit %d" % limit, resource.getrlimit(limit)[0] < 100)
for fd in range(3):
    note("flags of %d" % fd, fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND))
    note("signal of %d" % fd, fcntl.fcntl(fd, 11))
    note("owner of %d" % fd, fcntl.fcntl(fd, fcntl.F_GETOWN))
note("standard input", bool(select.select([0], [], [], 0)[0]) and sys.stdin.read() not in ("[0]", "[1]"))
for folder in ("/", "/tmp", "/dev", "/dev/shm", "/dev/mqueue", "/var/tmp", "/run", "/etc", "/packages"):
    names = quietly(lambda: os.listdir(folder)) or []
    note("mark in " + folder, [name for name in names if "hostile" in name])
own = open("/submission").read()
note("program", not own.rstrip().endswith("flush=True)") or own.startswith("print"))
note("shared memory", quietly(lambda: syscall("shmget", KEY, 4096, 0o600)))
note("message queue", quietly(lambda: syscall("msgget", KEY, 0o600)))
note("semaphores", quietly(lambda: syscall("semget", KEY, 1, 0o600)))
note("named queue", quietly(lambda: syscall("mq_open", NAME[1:], 0, 0, 0)))
note("key", quietly(lambda: syscall("keyctl", 10, -3, b"user", b"hostile-mark")))
def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect("\0hostile-mark")
    return True
note("socket", quietly(connect))

os.chdir("/dev")
quietly(lambda: os.setpriority(os.PRIO_PROCESS, 0, 7))
quietly(lambda: os.setpriority(os.PRIO_USER, 0, 7))
for number in (1, 2, 3, 14, 15):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
signal.setitimer(signal.ITIMER_REAL, 600)
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):
    quietly(lambda: resource.setrlimit(limit, (16, 16)))
for fd in range(3):
    quietly(lambda: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND))
    quietly(lambda: fcntl.fcntl(fd, 10, 42))
    quietly(lambda: fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid()))
for folder in ("/", "/tmp", "/dev", "/dev/shm", "/dev/mqueue", "/var/tmp", "/run", "/etc", "/packages", "."):
    quietly(lambda: open(folder + "/hostile-mark", "w").close())
    quietly(lambda: os.mkdir(folder + "/hostile-folder"))
    quietly(lambda: os.symlink("x", folder + "/hostile-link"))
for change in (lambda: open("/submission", "r+").write("print('forged-by')"), lambda: os.truncate("/submission", 0),
               lambda: os.unlink("/submission"), lambda: os.rename("/submission", "/hostile"),
               lambda: os.chmod("/submission", 0o777), lambda: os.utime("/submission", (1, 1)),
               lambda: os.setxattr("/submission", "user.hostile", b"x"), lambda: os.link("/submission", "/tmp/hostile")):
    note("changed the program", quietly(lambda: change() is None))
quietly(lambda: syscall("shmget", KEY, 4096, 0o1600))
quietly(lambda: syscall("msgget", KEY, 0o1600))
quietly(lambda: syscall("semget", KEY, 1, 0o1600))
quietly(lambda: syscall("mq_open", NAME[1:], 0o102, 0o600, 0))
quietly(lambda: syscall("add_key", b"user", b"hostile-mark", b"y", 1, -3))
quietly(lambda: syscall("sethostname", b"hostile", 7))
quietly(lambda: syscall("personality", 0x40000))
def listen():
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0hostile-mark")
    server.listen()
    return server
kept = quietly(listen)
def stay():
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
fork(stay)
fork(lambda: time.sleep(600))
print("clean" if not found else "found " + ", ".join(found), flush=True)
