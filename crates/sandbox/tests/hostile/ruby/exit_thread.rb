# expect: raised SystemExit | no_answer
def f(n) = Thread.exit
