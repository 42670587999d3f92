# expect: value "held"
def f(n):
    made = 0
    try:
        while made < 10_000:
            os.dup(0)
            made += 1
    except OSError:
        pass
    return "held" if made <= 128 else "%d descriptors" % made
