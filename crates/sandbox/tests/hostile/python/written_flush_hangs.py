# expect: timeout
# timeout: 400
# then: value 1
# Only its own answer is lost.
def f(n):
    if n == 0:
        sys.stdout.buffer.flush = lambda: time.sleep(60)
        print("x")
    return 1
