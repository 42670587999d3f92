# expect: value "held"
# expect C: value "held" | unavailable
# disk: 4
def f(n):
    total = 0
    try:
        for at in range(16):
            with open("/tmp/hostile-%d" % at, "wb") as file:
                total += file.write(bytes(1 << 20))
                file.flush()
    except OSError:
        pass
    return "held" if total <= 5 << 20 else "%d MiB" % (total >> 20)
