# expect: value "held" | memory_limit | raised RuntimeError
def f(n):
    threading.stack_size(65536)
    made = 0
    try:
        while made < 300:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            made += 1
    except (RuntimeError, MemoryError):
        pass
    return "held" if made <= 18 else "%d threads" % made
