# expect: raised SystemExit
def f(n) = abort('PASS')
