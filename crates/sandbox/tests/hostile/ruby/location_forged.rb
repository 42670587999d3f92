# expect: raised SyntaxError
# then: raised Exception
class Liar < StandardError
  def cause = exit!(0) || self
  def message = raise(SystemExit)
end
def f(n)
  raise SyntaxError, "submission.rb:#{'9' * 400}: \e[2J" if n == 0
  raise Liar
end
