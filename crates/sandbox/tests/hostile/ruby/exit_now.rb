# expect: no_answer
def f(n) = exit!(0)
