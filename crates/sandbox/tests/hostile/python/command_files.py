# mode: command
# expect: ran held
# expect C: unavailable
import glob, subprocess
def f(n):
    def reads(path):
        return lambda: open(path, "rb").read(1)
    def writes(path):
        return lambda: open(path, "ab").close()
    def opens_again(path):
        def attack():
            with open(path, "rb") as file:
                open(f"/proc/self/fd/{file.fileno()}", "ab").close()
        return attack
    if os.path.exists("/proc/1") and "the-secret-of-the-host" in open("/proc/self/environ").read():
        return "has the host's environment"
    secret = ("/etc/shadow", "/etc/ssl/private", "/etc/sudoers", "/root/.bashrc", "/home", "/var/log/syslog", "/run/docker.sock",
              "@FOLDER@/secret", "/proc/self/root/@FOLDER@/secret", "/proc/self/cwd/../../../@FOLDER@/secret", "/proc/kcore",
              "/proc/kmsg", "/proc/1/root/etc/shadow", "/dev/mem", "/dev/kvm", "/dev/fuse", "/dev/vda", "/dev/sda", "/dev/tty")
    programs = [sys.executable, os.__file__, "/usr/bin/env", "/etc/passwd", "/etc/hosts", "/etc/ld.so.cache"]
    settings = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/net/core/somaxconn", "/proc/sysrq-trigger",
                "/proc/sys/vm/drop_caches", "/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/self/setgroups"]
    attacks = {f"read {path}": reads(path) for path in secret}
    attacks |= {f"list {path}": lambda path=path: os.listdir(path) for path in ("/root/.local", "/home", "@FOLDER@", "/etc/ssl/private", "/sys")}
    attacks |= {f"write {path}": writes(path) for path in programs + settings}
    attacks |= {f"write {path} through its descriptor": opens_again(path) for path in programs}
    attacks |= {f"replace {path}": lambda path=path: os.replace("/tmp/project/attack.py", path) for path in programs}
    attacks |= {f"remove {path}": lambda path=path: os.unlink(path) for path in programs}
    attacks |= {f"change mode of {path}": lambda path=path: os.chmod(path, 0o777) for path in programs}
    attacks |= {f"new file in {folder}": writes(f"{folder}/hostile-new") for folder in
                ("/", "/usr", "/usr/bin", "/usr/local/bin", os.path.dirname(os.__file__), "/etc", "/run", "/run/interpreter", "/dev", "/proc")}
    attacks |= {
        "mount": lambda: syscall("mount", b"tmpfs", b"/usr", b"tmpfs", 0, 0),
        "remount": lambda: syscall("mount", b"none", b"/usr", b"none", 32, 0),
        "unmount": lambda: syscall("umount2", b"/usr", 2),
        "unmount proc": lambda: syscall("umount2", b"/proc", 2),
        "attributes of mounts": lambda: syscall("mount_setattr", -100, b"/usr", 0, 0, 0),
        "new root": lambda: syscall("chroot", b"/tmp"),
        "pivot": lambda: syscall("pivot_root", b"/tmp", b"/tmp"),
        "user namespace": lambda: syscall("unshare", 0x10000000),
        "network namespace": lambda: syscall("unshare", 0x40000000),
        "clone into a namespace": lambda: syscall("clone", 0x10000000 | 17, 0, 0, 0, 0),
        "file by handle": lambda: syscall("open_by_handle_at", -100, bytes(136), 0),
        "block device": lambda: os.mknod("/tmp/hostile-node", 0o060666, os.makedev(254, 0)),
        "character device": lambda: os.mknod("/tmp/hostile-node", 0o020666, os.makedev(1, 1)),
        "tape": lambda: syscall("fsopen", b"proc", 0),
        "bpf": lambda: syscall("bpf", 0, bytes(128), 128),
        "io_uring": lambda: syscall("io_uring_setup", 1, bytes(120)),
        "keyring": lambda: syscall("add_key", b"user", b"hostile", b"x", 1, -3),
        "userfaultfd": lambda: syscall("userfaultfd", 1),
        "perf": lambda: syscall("perf_event_open", bytes(128), 0, -1, -1, 0),
        "lease": lambda: __import__("fcntl").fcntl(open(sys.executable), 1024, 0),
        "namespaces by a program": lambda: subprocess.run(["unshare", "-Ur", "true"], check=True, capture_output=True),
    }
    # What it may have, so that what fails above is not all there is.
    subprocess.run(["sed", "--version"], check=True, capture_output=True)
    os.mkfifo("/tmp/hostile-fifo")
    return tried(attacks)
