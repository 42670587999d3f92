# mode: command
# expect: ran held
# expect C: unavailable
def f(n):
    def connects(family, address):
        def attack():
            with socket.socket(family) as ours:
                ours.settimeout(2)
                ours.connect(address)
        return attack
    def sends(family, address):
        def attack():
            with socket.socket(family, socket.SOCK_DGRAM) as ours:
                ours.sendto(b"x", address)
                # A datagram to a port of the loopback that nobody has is refused a moment later.
                ours.connect(address)
                ours.settimeout(2)
                ours.send(b"x")
                ours.recv(1)
        return attack
    def opens(family, kind, protocol):
        return lambda: socket.socket(family, kind, protocol).close()
    def changes_addresses():
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:
            # RTM_NEWADDR of 10.0.0.1/8 on the loopback; the kernel answers with an error message, whose number is not 0.
            body = bytes([socket.AF_INET, 8, 0, 0]) + (1).to_bytes(4, sys.byteorder) + (8).to_bytes(2, sys.byteorder) + (2).to_bytes(2, sys.byteorder) + bytes([10, 0, 0, 1])
            head = (16 + len(body)).to_bytes(4, sys.byteorder) + (20).to_bytes(2, sys.byteorder) + (0x0605).to_bytes(2, sys.byteorder) + bytes(8)
            route.send(head + body)
            return int.from_bytes(route.recv(4096)[16:20], sys.byteorder, signed=True) == 0
    def takes_loopback_down():
        import fcntl
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
            fcntl.ioctl(ours, 0x8914, b"lo".ljust(16, b"\0") + bytes(24))
    # Its own loopback is there, so that what fails below is not all networks.
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as server:
            server.bind((address, 0))
            server.listen()
            socket.create_connection(server.getsockname()[:2]).close()
    if socket.gethostbyname("localhost") != "127.0.0.1" or [name for _, name in socket.if_nameindex()] != ["lo"]:
        return "no loopback"
    port, udp = int("@PORT@"), int("@UDP@")
    attacks = {f"tcp {address}": connects(socket.AF_INET, (address, port)) for address in ("127.0.0.1", "0.0.0.0", "127.1.2.3")}
    attacks |= {f"tcp {address}": connects(socket.AF_INET, (address, 53)) for address in ("1.1.1.1", "10.0.0.1", "169.254.169.254")}
    attacks |= {
        "tcp of IPv6": connects(socket.AF_INET6, ("::1", port)),
        "outside by IPv6": connects(socket.AF_INET6, ("2606:4700:4700::1111", 53)),
        "udp": sends(socket.AF_INET, ("127.0.0.1", udp)),
        "outside by udp": sends(socket.AF_INET, ("1.1.1.1", 53)),
        "abstract": connects(socket.AF_UNIX, "\0@HIDDEN@"),
        "stream": connects(socket.AF_UNIX, "@FOLDER@/stream"),
        "names": lambda: socket.gethostbyname("example.com"),
        "raw": opens(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        "raw of IPv6": opens(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
        "ping": opens(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
        "sctp": opens(socket.AF_INET, socket.SOCK_STREAM, 132),
        "multipath": opens(socket.AF_INET, socket.SOCK_STREAM, 262),
        "packet": opens(socket.AF_PACKET, socket.SOCK_RAW, 0),
        "packet datagrams": opens(socket.AF_PACKET, socket.SOCK_DGRAM, 0),
        "virtual machine": opens(40, socket.SOCK_STREAM, 0),
        "crypto": opens(38, socket.SOCK_SEQPACKET, 0),
        "bluetooth": opens(31, socket.SOCK_RAW, 1),
        "xdp": opens(44, socket.SOCK_RAW, 0),
        "tipc": opens(30, socket.SOCK_STREAM, 0),
        "addresses": changes_addresses,
        "loopback down": takes_loopback_down,
        "filter of sockets": lambda: socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, 26, bytes(16)),
    }
    attacks |= {f"netlink {number}": opens(socket.AF_NETLINK, socket.SOCK_RAW, number) for number in range(1, 23)}
    return tried(attacks)
