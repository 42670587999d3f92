# expect: value "held"
def f(n):
    paths = ["/etc/passwd", "/etc/shadow", "/etc/hostname", "/proc/self/environ", "/proc/self/maps", "/proc/1/environ",
             "/proc/@PID@/environ", "/proc/@PID@/mem", "/sys/kernel/uevent_seqnum", "@FOLDER@/secret", "/root/.profile",
             "/var/log/dpkg.log", "/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/ptmx", "/dev/kvm", "/dev/fuse", "/dev/net/tun"]
    def opens(path):
        return lambda: open(path, "rb").close()
    return tried({path: opens(path) for path in paths})
