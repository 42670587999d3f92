# expect: timeout | raised BlockingIOError
# timeout: 500
# Parents die as fast as children are born, so no list of processes is ever right.
def f(n):
    def relay():
        os.setsid()
        while True:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                pass
    for _ in range(6):
        fork(relay)
    while True:
        try:
            os.waitpid(-1, 0)
        except OSError:
            time.sleep(0.01)
