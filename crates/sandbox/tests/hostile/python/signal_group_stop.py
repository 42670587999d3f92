# expect: value "still here" | timeout
# then: value 2
# timeout: 600
def f(n):
    if n == 1:
        return 2
    os.kill(0, signal.SIGSTOP)
    os.kill(0, signal.SIGTSTP)
    return "still here"
