# expect: raised RangeError
def f(n) = 100_000.times.reduce([]) { |value, _| [value] }
