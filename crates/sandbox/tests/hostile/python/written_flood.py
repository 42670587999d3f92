# expect: value "calm"
# A flood on standard output and error costs neither memory nor the verdict.
def f(n):
    for _ in range(400):
        print("x" * 100_000)
        os.write(2, b"\xff\x1b[31m" * 20_000)
    return "calm"
