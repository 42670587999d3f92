# expect: value
# then: value "clean"
def f(n):
    found = os.getpriority(os.PRIO_PROCESS, 0)
    for which in (os.PRIO_PGRP, os.PRIO_USER):
        try:
            os.setpriority(which, 0, 7)
        except OSError:
            pass
    return "clean" if found == 0 else "niceness %d of the case before" % found
