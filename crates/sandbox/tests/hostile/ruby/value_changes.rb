# expect: own
# timeout: 500
class Growing < Array
  def each
    loop { yield 1 }
  end
end
def f(n)
  items = [1]
  Thread.new { loop { items << 1 } }
  items
end
