# expect: value "held" | memory_limit
# expect C: value "held" | memory_limit | unavailable
# disk: 4
def f(n):
    made = 0
    try:
        while made < 50_000:
            os.close(os.open("/tmp/hostile-%d" % made, os.O_CREAT | os.O_WRONLY))
            made += 1
    except OSError:
        pass
    return "held" if made <= 20_000 else "%d files" % made
