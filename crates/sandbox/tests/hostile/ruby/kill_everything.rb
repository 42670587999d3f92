# expect: own
# then: value 2
def f(n)
  return 2 if n == 1
  fork { sleep }
  begin
    Process.kill(:KILL, -1)
  rescue SystemCallError
    nil
  end
  'alive'
end
