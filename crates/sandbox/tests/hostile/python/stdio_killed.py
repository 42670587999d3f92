# expect: own
# mode: stdio
# timeout: 800
os.kill(os.getpid(), signal.SIGKILL)
os.kill(0, signal.SIGKILL)
