# expect: own
# timeout: 500
def f(n):
    os._exit = lambda code: None
    sys.exit = lambda *a: None
    return n
