# expect: own
# timeout: 1500
def f(n) = Regexp.new('(a{1,1000}){1,1000}').match?('a' * 100_000)
