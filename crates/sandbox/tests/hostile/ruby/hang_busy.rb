# expect: timeout
# timeout: 300
def f(n) = loop {}
