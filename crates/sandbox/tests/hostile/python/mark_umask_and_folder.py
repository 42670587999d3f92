# expect: value
# then: value "clean"
import random
def f(n):
    found = (os.umask(0), os.getcwd(), random.random.__self__.getstate()[1][0], os.environ.get("MARK"))
    os.chdir("/dev")
    os.environ["MARK"] = "x"
    os.putenv("MARK", "x")
    return "clean" if found[1] == "/" and found[3] is None and found[0] == 0o022 else repr(found)
