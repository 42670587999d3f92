# expect: value "held"
def f(n):
    made = 0
    try:
        while made < 200:
            fork(lambda: time.sleep(60))
            made += 1
    except OSError:
        pass
    return "held" if made <= 18 else "%d processes" % made
