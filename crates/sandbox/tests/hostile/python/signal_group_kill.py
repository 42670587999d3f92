# expect: own
# then: value 2
# timeout: 600
def f(n):
    if n == 1:
        return 2
    os.kill(0, signal.SIGKILL)
    time.sleep(0.05)
    return "still here"
