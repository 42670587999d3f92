# expect: timeout
# timeout: 500
def f(n)
  loop do
    fork
  rescue SystemCallError
    nil
  end
end
