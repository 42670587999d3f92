# expect: value "held"
# expect C: value
# Landlock does not hide that a file is there.
def f(n):
    def stats(path):
        return lambda: os.stat(path) and None
    return tried({path: stats(path) for path in ["/etc/passwd", "/proc/@PID@", "/home", "/run", "@FOLDER@/secret"]})
