# mode: command
# memory: 96
# disk: 16
# processes: 64
# expect: memory_limit
# expect C: unavailable
def f(n):
    # Connections that wait to be accepted, full and closed by the side that made them: no process has them open.
    for number in range(100):
        server = socket.socket(socket.AF_UNIX)
        server.bind(f"\0hostile-{number}")
        server.listen(4096)
        _open.append(server)
        for _ in range(200):
            with socket.socket(socket.AF_UNIX) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 26)
                client.connect(f"\0hostile-{number}")
                client.setblocking(False)
                try:
                    while client.send(bytes(1 << 15)):
                        pass
                except BlockingIOError:
                    pass
    time.sleep(60)
    return "filled"
_open = []
