# expect: own
# then: value "clean"
# timeout: 500
# Tries to go on as the zygote once its own answer is given.
def f(n):
    if n == 1:
        return "clean"
    os._exit = lambda code: None
    frame = sys._getframe()
    while frame:
        if frame.f_code.co_name == "zygote":
            frame.f_globals["work"] = lambda job, result: None
            frame.f_locals["control"]
        frame = frame.f_back
    return "answered"
