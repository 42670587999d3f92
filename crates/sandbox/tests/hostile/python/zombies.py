# expect: value "held"
def f(n):
    made = 0
    try:
        while made < 500:
            fork(lambda: None)
            made += 1
    except OSError:
        pass
    return "held" if made <= 18 else "%d zombies" % made
