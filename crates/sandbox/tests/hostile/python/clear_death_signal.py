# expect: value "cleared"
# The signal that a parent's death sends is the submission's own to clear.
def f(n):
    def work():
        _libc.prctl(1, 0, 0, 0, 0)
        os.setsid()
        if os.fork() == 0:
            _libc.prctl(1, 0, 0, 0, 0)
            os.setsid()
            time.sleep(600)
    fork(work)
    return "cleared" if _libc.prctl(1, 0, 0, 0, 0) == 0 else "kept"
