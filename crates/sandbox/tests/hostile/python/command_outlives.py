# mode: command
# expect: ran held
# expect C: unavailable
def f(n):
    def stay():
        os.setsid()
        _libc.prctl(1, 0, 0, 0, 0)
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass
        server = socket.socket(socket.AF_UNIX)
        server.bind("\0hostile-stays")
        server.listen()
        open("/dev/shm/hostile-stays", "w").write("x")
        while True:
            fork(lambda: time.sleep(600))
            time.sleep(600)
    fork(lambda: fork(stay))
    while not os.path.exists("/dev/shm/hostile-stays"):
        time.sleep(0.01)
    return "held"
