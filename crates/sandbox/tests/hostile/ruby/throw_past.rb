# expect: raised UncaughtThrowError
def f(n) = throw(:done, 1)
