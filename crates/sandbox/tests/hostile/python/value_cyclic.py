# expect: raised Unsupported
def f(n):
    value = {}
    value["again"] = [value]
    return value
