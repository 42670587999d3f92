# expect: value "done"
def f(n):
    for _ in range(4):
        fork(lambda: (os.setsid(), [time.sleep(1) for _ in range(600)]))
    return "done"
