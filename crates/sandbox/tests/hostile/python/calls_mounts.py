# expect: value "held"
def f(n):
    return tried({
        "tmpfs": lambda: syscall("mount", b"x", b"/tmp", b"tmpfs", 0, None),
        "proc": lambda: syscall("mount", b"proc", b"/tmp", b"proc", 0, None),
        "remount": lambda: syscall("mount", None, b"/", None, 32 | 4096, None),
        "bind": lambda: syscall("mount", b"/usr", b"/tmp", None, 4096, None),
        "umount": lambda: syscall("umount2", b"/tmp", 2),
        "umount root": lambda: syscall("umount2", b"/", 2),
        "pivot_root": lambda: syscall("pivot_root", b".", b"."),
        "chroot": lambda: syscall("chroot", b"/tmp"),
        "fsopen": lambda: syscall("fsopen", b"tmpfs", 0),
        "open_tree": lambda: syscall("open_tree", -100, b"/", 1),
        "setattr": lambda: syscall("mount_setattr", -100, b"/", 0, ctypes.create_string_buffer(32), 32),
    })
