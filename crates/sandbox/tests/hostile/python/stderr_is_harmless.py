# expect: value 1
# A good submission may write to standard error.
def f(n):
    print("x" * 100000, file=sys.stderr, flush=True)
    os.write(2, b"y")
    return 1
