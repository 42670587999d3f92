# expect: value "held"
def f(n):
    def lists(path):
        return lambda: os.listdir(path) != []
    return tried({path: lists(path) for path in
                  ["/home", "/var", "/proc", "/sys", "/tmp", "/run", "/etc/ssl", "/usr/share", "/dev/shm", "@FOLDER@"]})
