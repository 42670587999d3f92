# expect: value {"x":"Liar"}
class Liar
  def is_a?(type) = true
  def kind_of?(type) = true
  def class = Integer
  def ==(other) = true
  def to_s = '1'
  def to_str = '1'
  def to_ary = [1]
  def inspect = '1'
  def self.===(other) = true
  def self.name = 'Integer'
  def self.to_s = 'Integer'
end
def f(n) = Liar.new
