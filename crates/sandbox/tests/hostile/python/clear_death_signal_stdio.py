# expect: text cleared
# mode: stdio
def work():
    _libc.prctl(1, 0, 0, 0, 0)
    os.setsid()
    if os.fork() == 0:
        _libc.prctl(1, 0, 0, 0, 0)
        os.setsid()
        null = os.open("/dev/null", os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        time.sleep(600)
_libc.prctl(1, 0, 0, 0, 0)
fork(work)
print("cleared")
