# expect: value {"w":"eda0806ded"}| own
def f(n):
    return "\ud800" + "\x00" + "\u2028"
