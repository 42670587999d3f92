# expect: value "held"
def f(n):
    def stream(address):
        return lambda: socket.socket(socket.AF_UNIX).connect(address)
    def datagram(address):
        return lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", address)
    def reconnect(address):
        def attack():
            s = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]
            s.connect(address)
            s.send(b"x")
        return attack
    return tried({
        "stream": stream("@FOLDER@/stream"),
        "hidden": stream("\0@HIDDEN@"),
        "datagram": datagram("@FOLDER@/datagrams"),
        "reconnect": reconnect("@FOLDER@/datagrams"),
        "log": datagram("/dev/log"),
        "docker": stream("/var/run/docker.sock"),
        "bus": stream("/run/dbus/system_bus_socket"),
    })
