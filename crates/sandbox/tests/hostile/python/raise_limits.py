# expect: value "held"
import resource
def f(n):
    attacks = {}
    for name in ("NPROC", "DATA", "CPU", "NOFILE", "FSIZE", "CORE", "MEMLOCK", "STACK", "MSGQUEUE"):
        which = getattr(resource, "RLIMIT_" + name, 12 if name == "MSGQUEUE" else None)
        attacks[name] = lambda which=which: resource.setrlimit(which, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return tried(attacks)
