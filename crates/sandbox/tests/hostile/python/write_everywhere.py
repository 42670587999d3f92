# expect: value "held"
def f(n):
    def writes(folder):
        def attack():
            with open(folder + "/hostile-file", "wb") as file:
                file.write(b"x")
        return attack
    folders = ["", "/tmp", "/var/tmp", "/dev/shm", "/dev", "/etc", "/usr", "/usr/lib", os.path.dirname(os.__file__), ".", "/run",
               "/home", "/root", "@FOLDER@"]
    return tried({folder or "/": writes(folder) for folder in folders} | {
        "mkdir": lambda: os.mkdir("/tmp/hostile-folder"),
        "symlink": lambda: os.symlink("/", "/tmp/hostile-link"),
        "fifo": lambda: os.mkfifo("/tmp/hostile-fifo"),
    })
