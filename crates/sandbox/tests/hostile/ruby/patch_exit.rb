# expect: value 0
def Process.exit!(*) = nil
def exit(*) = nil
module Kernel
  def exit!(*) = nil
end
def f(n) = n
