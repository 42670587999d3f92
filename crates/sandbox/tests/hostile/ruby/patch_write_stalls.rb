# expect: value 1
# timeout: 500
class IO
  def syswrite(*) = 0
  def write(*) = 0
end
def f(n) = 1
