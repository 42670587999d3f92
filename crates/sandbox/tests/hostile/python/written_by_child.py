# expect: value 1
# A child that goes on writing holds nothing up.
def f(n):
    def pour():
        while True:
            os.write(1, b"z" * 65536)
    fork(pour)
    return 1
