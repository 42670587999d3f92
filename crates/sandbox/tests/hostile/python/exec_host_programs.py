# expect: value "held"
def f(n):
    def runs(path):
        def attack():
            pid = os.fork()
            if pid == 0:
                try:
                    os.execv(path, [path, "--version"])
                except OSError:
                    os._exit(99)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 99
        return attack
    return tried({path: runs(path) for path in ("/usr/bin/su", "/usr/bin/sudo", "/bin/mount", "/usr/bin/bash", "/bin/sh", "/usr/bin/node")})
