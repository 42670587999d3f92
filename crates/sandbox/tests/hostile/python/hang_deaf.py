# expect: timeout
# timeout: 300
def f(n):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    time.sleep(600)
