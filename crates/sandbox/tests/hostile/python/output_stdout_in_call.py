# expect: timeout
# timeout: 400
def f(n):
    while True:
        print("x" * 100000, flush=True)
