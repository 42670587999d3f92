# expect: own
# then: value 2
# timeout: 800
def f(n):
    if n == 1:
        return 2
    def work():
        for target in (-1, 0, 1, os.getppid()):
            for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT):
                try:
                    os.kill(target, number)
                except OSError:
                    pass
    fork(work)
    time.sleep(0.1)
    return "alive"
