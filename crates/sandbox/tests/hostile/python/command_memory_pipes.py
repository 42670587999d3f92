# mode: command
# memory: 96
# disk: 16
# processes: 64
# expect: memory_limit
# expect C: unavailable
def f(n):
    def fill():
        ends = []
        while True:
            try:
                reader, writer = os.pipe()
            except OSError:
                break
            os.set_blocking(writer, False)
            try:
                while os.write(writer, bytes(4096)):
                    pass
            except BlockingIOError:
                pass
            ends.append((reader, writer))
        time.sleep(60)
    for _ in range(8):
        fork(fill)
    time.sleep(60)
    return "filled"
