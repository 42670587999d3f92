# expect: value "held"
def f(n):
    def stats(path):
        return lambda: os.stat(path) and None
    return tried({path: stats(path) for path in ["/etc/passwd", "/proc/@PID@", "/home", "/run", "@FOLDER@/secret"]})
