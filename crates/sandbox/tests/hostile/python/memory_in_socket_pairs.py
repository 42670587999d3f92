# expect: memory_limit
# Every process fills as many pairs as it may have open.
def f(n):
    def fill():
        keep = []
        try:
            while True:
                pair = socket.socketpair()
                keep.extend(pair)
                for end in pair:
                    end.setblocking(False)
                    try:
                        while True:
                            end.send(bytes(60_000))
                    except BlockingIOError:
                        pass
        except OSError:
            time.sleep(600)
    for _ in range(14):
        fork(fill)
    time.sleep(600)
