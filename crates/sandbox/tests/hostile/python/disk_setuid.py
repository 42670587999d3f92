# expect: value "held"
# expect C: value "held" | unavailable
# disk: 8
def f(n):
    with open(sys.executable, "rb") as a, open("/tmp/hostile-x", "wb") as b:
        b.write(a.read(7 << 20))
    os.chmod("/tmp/hostile-x", 0o6777)
    return tried({"uid": lambda: os.stat("/tmp/hostile-x").st_uid != os.getuid()})
