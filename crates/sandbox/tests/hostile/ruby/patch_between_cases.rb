# expect: value "patched"
# then: value 2
def f(n)
  return 1 + 1 if n == 1
  Integer.class_eval { def +(other) = 42 }
  $left = 1 + 1
  'patched'
end
