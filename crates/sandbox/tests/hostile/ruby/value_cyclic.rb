# expect: raised RangeError
def f(n)
  value = {}
  value['a'] = [value]
  value
end
