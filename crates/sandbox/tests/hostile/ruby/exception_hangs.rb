# expect: timeout
# timeout: 400
class Slow < Exception
  def message = loop {}
end
def f(n) = raise(Slow)
