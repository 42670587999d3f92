# expect: own
# then: value 2
# The zygote must not be in reach of kill(0): it would die, or be taken for a broken host.
def f(n):
    if n == 1:
        return 2
    for number in list(range(1, 65)):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    for number in list(range(1, 65)):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            try:
                os.kill(0, number)
            except OSError:
                pass
    return "sent"
