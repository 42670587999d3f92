# mode: command
# expect: ran held
# expect C: unavailable
import glob, shutil, stat, subprocess
def f(n):
    def runs(path):
        return lambda: subprocess.run([path, "--version"], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    folders = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin")
    raising = [path for folder in folders for path in glob.glob(f"{folder}/*") if os.stat(path, follow_symlinks=False).st_mode & 0o6000
               and not os.path.islink(path)]
    if raising:
        return f"shows {raising}"
    def raised():
        shutil.copy("/usr/bin/env", "/tmp/env")
        os.chmod("/tmp/env", 0o6755)
        seen = subprocess.run(["/tmp/env", "sh", "-c", "id -u; grep -c 'CapEff:.0*$' /proc/self/status"], capture_output=True, text=True)
        return not seen.stdout.startswith("1000\n1")
    attacks = {path: runs(path) for path in ("su", "mount", "umount", "passwd", "chsh", "newgrp", "newuidmap", "sudo", "pkexec")}
    attacks |= {
        "set-uid copy": raised,
        "uid 0": lambda: os.setuid(0),
        "gid 0": lambda: os.setgid(0),
        "groups": lambda: os.setgroups([0]),
        "capabilities": lambda: syscall("capset", bytes(8), bytes(24)),
        "owner": lambda: os.chown("/tmp/project/attack.py", 0, 0),
        "host name": lambda: socket.sethostname("hostile"),
        "clock": lambda: time.clock_settime(time.CLOCK_REALTIME, 0),
        "priority": lambda: os.setpriority(os.PRIO_USER, 0, 19),
    }
    return tried(attacks)
