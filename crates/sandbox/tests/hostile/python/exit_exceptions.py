# expect: raised SystemExit
def f(n):
    sys.exit(0)
