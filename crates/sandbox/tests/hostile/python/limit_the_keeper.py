# expect: value "held"
# then: value "held"
# A parent under our own uid must not be in reach of prlimit.
import resource
def f(n):
    parent = os.getppid()
    if parent == 0:
        return "held"
    return tried({
        "cpu": lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1)),
        "files": lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (0, 0)),
        "nice": lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),
    })
