# expect: own
# then: value 2
def f(n):
    if n == 1:
        return 2
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for _ in range(50):
        os.kill(0, signal.SIGINT)
        time.sleep(0.002)
    return "sent"
