# expect: value 1
def f(n)
  4.times { Thread.new { loop { sleep 1 } } }
  1
end
