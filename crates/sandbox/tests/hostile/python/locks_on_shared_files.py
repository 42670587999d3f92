# expect: value
# then: value "clean"
import fcntl
def f(n):
    fd = os.open(os.__file__, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return "clean" if error.errno != errno.EWOULDBLOCK else "locked by the case before"
    fork(lambda: time.sleep(600))
    return "clean"
