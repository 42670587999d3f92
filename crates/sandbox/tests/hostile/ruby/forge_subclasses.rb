# expect: value ["text",[1],{"d":[["a",1]]}]
class Text < String
  def to_s = 'lie'
  def encoding = raise
end
class Items < Array
  def each = raise
  def to_a = ['lie']
end
class Members < Hash
  def each_pair = raise
  def to_h = {}
end
def f(n) = [Text.new('text'), Items.new([1]), Members.new.merge!('a' => 1)]
