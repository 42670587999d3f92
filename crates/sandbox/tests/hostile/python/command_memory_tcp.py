# mode: command
# memory: 96
# disk: 16
# processes: 64
# expect: memory_limit
# expect C: unavailable
def f(n):
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(4096)
    clients = []
    for _ in range(2000):
        client = socket.create_connection(server.getsockname())
        client.setblocking(False)
        try:
            while client.send(bytes(1 << 16)):
                pass
        except BlockingIOError:
            pass
        clients.append(client)
        if len(clients) % 2:
            client.close()
    time.sleep(60)
    return "filled"
