# expect: value "held"
# then: value "held"
# The frames of the harness hold nothing of other cases, and no open control socket.
def f(n):
    frame, seen = sys._getframe(), {}
    while frame:
        seen.update({f"{frame.f_code.co_name}.{k}": v for k, v in list(frame.f_locals.items())})
        frame = frame.f_back
    import gc
    sockets = [s for s in gc.get_objects() if isinstance(s, socket.socket)]
    sockets += [v for v in seen.values() if isinstance(v, socket.socket)]
    pieces = [v for k, v in seen.items() if k.endswith(".pieces")]
    other = "[%d]" % (1 - n)
    return tried({
        "socket": lambda: any(s.fileno() >= 0 for s in sockets),
        "other case": lambda: any(other == part for p in pieces for part in p),
        "expected": lambda: any("expect" in k.lower() for k in seen),
    })
