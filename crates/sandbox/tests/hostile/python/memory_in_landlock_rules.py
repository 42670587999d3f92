# expect: value "held"
def f(n):
    rights = (ctypes.c_uint64 * 1)(1)
    return tried({"rules": lambda: syscall(444, rights, 8, 0), "add": lambda: syscall(445, 0, 1, rights, 0)
        if ctypes.get_errno() != errno.ENOSYS else False, "restrict": lambda: syscall("landlock_restrict_self", -1, 0)})
