# expect: value "held"
def f(n):
    def opens(family, kind):
        def attack():
            socket.socket(family, kind).close()
        return attack
    def pairs(family, kind):
        def attack():
            array = (ctypes.c_int * 2)()
            syscall({"x86_64": 53, "aarch64": 199}[os.uname().machine], family, kind, 0, ctypes.byref(array))
        return attack
    attacks = {}
    for family in range(0, 50):
        if family != socket.AF_UNIX:
            for kind in (1, 2, 3, 5):
                attacks["socket %d %d" % (family, kind)] = opens(family, kind)
                attacks["pair %d %d" % (family, kind)] = pairs(family, kind)
    return tried(attacks)
