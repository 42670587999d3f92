# expect: value "held" | raised OSError
def f(n):
    sent = 0
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.setblocking(False)
    try:
        while sent < 20_000:
            socket.send_fds(a, [b"x"], [0] * 100)
            sent += 100
    except OSError:
        pass
    return "held" if sent <= 4_000 else "%d descriptors in flight" % sent
