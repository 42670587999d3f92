# expect: memory_limit | value "held"
# processes: 40
# Private memory within the limit of each process, in processes without a first thread.
def f(n):
    r, w = os.pipe()
    def work():
        def hold():
            time.sleep(0.05)
            keep = bytearray(b"x") * 30_000_000
            os.write(w, b"x")
            time.sleep(600)
        threading.Thread(target=hold).start()
        ctypes.CDLL(None).syscall(NR["exit"], 0)
    for _ in range(10):
        fork(work)
    got = 0
    os.set_blocking(r, False)
    time.sleep(1)
    for _ in range(10):
        got += len(os.read(r, 1))
    time.sleep(0.1)
    return "%d MiB in ten processes" % (got * 28)
