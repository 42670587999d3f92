# expect: no_answer
def f(n):
    fork(lambda: (os.setsid(), fork(lambda: time.sleep(600))))
    os._exit(3)
