# expect: timeout
# timeout: 400
def f(n) = ('a' * 40 + 'b').match?(/\A(a|a)*\1?c\z/) || loop {}
