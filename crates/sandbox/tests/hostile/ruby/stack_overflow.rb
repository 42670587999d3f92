# expect: raised SystemStackError
def f(n) = f(n + 1)
