# expect: timeout
# timeout: 500
def f(n):
    while True:
        try:
            os.fork()
        except OSError:
            pass
