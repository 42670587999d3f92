# expect: own
# then: value 2
# timeout: 600
def f(n)
  return 2 if n == 1
  Process.kill(:KILL, 0)
  sleep 0.05
  'still here'
end
