# expect: own
# then: value "clean"
import builtins, gc, json
def f(n):
    if n == 1:
        return "clean" if builtins.len("ab") == 2 and json.loads("1") == 1 and isinstance(1, int) else "patched"
    json.loads = json.dumps = lambda *a: "patched"
    for module in list(sys.modules.values()):
        for name in ("quote", "encode", "answer", "sequence", "hexed", "loads"):
            if hasattr(module, name):
                setattr(module, name, lambda *a, **k: "patched")
    sys.stdout = sys.stderr = None
    builtins.isinstance = lambda *a: True
    builtins.len = lambda *a: 7
    builtins.type = lambda *a: bool
    gc.collect()
    return ["anything"]
