# expect: value "clean"
# expect C: value "clean" | unavailable
# then: value "clean"
# then C: value "clean" | unavailable
# disk: 4
def f(n):
    found = [name for name in os.listdir("/tmp") if "hostile-mark" in name]
    open("/tmp/hostile-mark", "w").close()
    return "clean" if not found else "found %r" % found
