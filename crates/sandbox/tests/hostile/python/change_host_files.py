# expect: value "held"
def f(n):
    own, lib = "@FOLDER@/secret", os.__file__
    def opens(path):
        return lambda: open(path, "ab").close()
    attacks = {"append " + path: opens(path) for path in (own, lib, sys.executable, "/etc/ld.so.cache", "/dev/full")}
    attacks.pop("append /dev/full")
    for path in (own, lib, sys.executable):
        attacks.update({
            "chmod " + path: lambda path=path: os.chmod(path, 0o600),
            "chown " + path: lambda path=path: os.chown(path, os.getuid(), os.getgid()),
            "utime " + path: lambda path=path: os.utime(path, (0, 0)),
            "truncate " + path: lambda path=path: os.truncate(path, 0),
            "unlink " + path: lambda path=path: os.unlink(path),
            "rename " + path: lambda path=path: os.rename(path, path + "x"),
            "link " + path: lambda path=path: os.link(path, "/tmp/hostile-link"),
        })
    return tried(attacks)
