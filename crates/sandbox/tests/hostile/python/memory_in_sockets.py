# expect: value "held" | memory_limit | raised OSError
def f(n):
    total, keep = 0, []
    def fill():
        nonlocal total
        while True:
            try:
                a, b = socket.socketpair()
            except OSError:
                return
            keep.extend([a, b])
            for end in (a, b):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
                end.setblocking(False)
                try:
                    while True:
                        total += end.send(bytes(60_000))
                except OSError:
                    pass
    fill()
    return "held" if total <= 80 << 20 else "%d MiB in sockets" % (total >> 20)
