# expect: memory_limit
def f(n):
    for _ in range(12):
        def work():
            keep = bytearray(40_000_000)
            for at in range(0, len(keep), 4096):
                keep[at] = 1
            time.sleep(600)
        fork(work)
    time.sleep(600)
