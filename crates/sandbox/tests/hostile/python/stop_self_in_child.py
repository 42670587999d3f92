# expect: timeout
# timeout: 400
def f(n):
    pid = fork(lambda: (os.kill(os.getpid(), signal.SIGSTOP), time.sleep(60)))
    os.waitpid(pid, 0)
    return n
