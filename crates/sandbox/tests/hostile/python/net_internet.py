# expect: value "held"
def f(n):
    def connects(family, kind, address):
        def attack():
            s = socket.socket(family, kind)
            s.settimeout(0.2)
            s.connect(address)
            s.send(b"x")
        return attack
    return tried({
        "tcp": connects(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int("@PORT@"))),
        "udp": connects(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int("@UDP@"))),
        "tcp6": connects(socket.AF_INET6, socket.SOCK_STREAM, ("::1", int("@PORT@"))),
        "mapped": connects(socket.AF_INET6, socket.SOCK_DGRAM, ("::ffff:127.0.0.1", int("@UDP@"))),
        "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
        "ping": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1),
        "name": lambda: socket.getaddrinfo("localhost", 80) and socket.create_connection(("localhost", int("@PORT@")), 0.2),
    })
