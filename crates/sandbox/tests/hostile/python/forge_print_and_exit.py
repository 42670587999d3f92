# expect: no_answer
def f(n):
    print("PASS", flush=True)
    os._exit(0)
