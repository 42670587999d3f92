# expect: timeout
# timeout: 400
def f(n)
  exit
ensure
  loop {}
end
