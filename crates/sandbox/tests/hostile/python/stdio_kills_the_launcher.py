# expect: own
# then: text clean
# mode: stdio
# timeout: 1500
# The processes above a program start the next one.
if sys.stdin.read() == "[1]":
    print("clean")
    sys.exit()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGKILL):
    for pid in (1, 0, os.getppid(), -os.getpgid(0)):
        if pid != 0 or number != signal.SIGKILL:
            try:
                os.kill(pid, number) if pid or number not in (signal.SIGSTOP,) else None
            except OSError:
                pass
    try:
        syscall("pidfd_send_signal", syscall("pidfd_open", 1, 0), int(number), 0, 0)
    except OSError:
        pass
os.kill(-1, signal.SIGKILL)
time.sleep(600)
