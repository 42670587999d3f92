# expect: own
# then: value 2
def f(n):
    if n == 1:
        return 2
    fork(lambda: time.sleep(60))
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass
    return "alive"
