# expect: value "held"
# expect C: value "held" | unavailable
# disk: 4
def f(n):
    def through(target):
        def attack():
            os.symlink(target, "/tmp/hostile-a")
            try:
                return open("/tmp/hostile-a").close()
            finally:
                os.unlink("/tmp/hostile-a")
        return attack
    def writes(target):
        def attack():
            os.symlink(target, "/tmp/hostile-a")
            try:
                return open("/tmp/hostile-a", "a").close()
            finally:
                os.unlink("/tmp/hostile-a")
        return attack
    attacks = {"read " + t: through(t) for t in ("/etc/passwd", "../etc/passwd", "../../../../../etc/passwd",
               "/proc/self/root/etc/passwd", "/proc/@PID@/root/etc/passwd", "@FOLDER@/secret")}
    attacks.update({"write " + t: writes(t) for t in (os.__file__, sys.executable, "/etc/ld.so.cache", "/hostile-b")})
    attacks["hard link"] = lambda: os.link(sys.executable, "/tmp/hostile-link")
    attacks["fifo device"] = lambda: os.mknod("/tmp/hostile-node", 0o020666, os.makedev(1, 1))
    return tried(attacks)
