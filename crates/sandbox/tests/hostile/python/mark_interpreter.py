# expect: value
# then: value "clean"
import json, re, decimal, builtins
def f(n):
    found = (hasattr(builtins, "MARK"), "MARK" in sys.modules, decimal.getcontext().prec, sys.getrecursionlimit())
    builtins.MARK = 1
    sys.modules["MARK"] = os
    decimal.getcontext().prec = 3
    sys.setrecursionlimit(5000)
    return "clean" if not found[0] and not found[1] and found[2] == 28 and found[3] == 1000 else repr(found)
