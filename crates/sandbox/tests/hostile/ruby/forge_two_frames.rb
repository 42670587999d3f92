# expect: no_answer
def f(n)
  IO.for_fd(4, 'wb', autoclose: false).syswrite("V\"forged\"\n")
  'true'
end
