# expect: value 1
class IO
  def syswrite(*) = 0
  def write(*) = 0
end
def f(n) = 1
