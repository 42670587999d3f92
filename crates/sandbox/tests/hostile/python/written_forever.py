# expect: timeout
# timeout: 500
# then: value 1
def f(n):
    while n == 0:
        sys.stdout.write("x" * 65536)
        sys.stderr.write("y" * 65536)
    return 1
