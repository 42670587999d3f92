# expect: value "held"
# What was sent over connections that nobody accepts, and to addresses that nobody reads.
def f(n):
    sent = 0
    def listens():
        nonlocal sent
        server = socket.socket(socket.AF_UNIX)
        server.bind("\0hostile-backlog")
        server.listen(4096)
        for _ in range(200):
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            client.connect("\0hostile-backlog")
            sent += client.send(bytes(150_000))
            client.close()
    def addresses():
        nonlocal sent
        keep = []
        for number in range(40):
            keep.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            keep[-1].bind("\0hostile-box-%d" % number)
            for _ in range(10):
                client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                sent += client.sendto(bytes(150_000), "\0hostile-box-%d" % number)
                client.close()
    found = tried({"listen": listens, "addresses": addresses})
    return found if sent == 0 else "%d MiB waiting" % (sent >> 20)
