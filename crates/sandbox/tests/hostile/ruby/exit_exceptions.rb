# expect: raised SystemExit
def f(n) = exit(0)
