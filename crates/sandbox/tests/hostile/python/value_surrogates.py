# expect: value {"w":"eda08000e280a8"}
def f(n):
    return "\ud800" + "\x00" + "\u2028"
