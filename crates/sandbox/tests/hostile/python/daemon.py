# expect: value "started"
def f(n):
    def work():
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        fork(lambda: time.sleep(600))
        time.sleep(600)
    fork(work)
    time.sleep(0.05)
    return "started"
