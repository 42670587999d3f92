# expect: value [{"x":"Range"},{"x":"Rational"},{"x":"object"},{"s":[1]},{"b":"ff00"},"é",{"f":"-0.0"},{"f":"nan"},{"f":"-inf"},1267650600228229401496703205376]
require 'set'
def f(n)
  [1..2, 1r, Class.new.new, Set[1], "\xff\x00", 'é', -0.0, Float::NAN, -Float::INFINITY, 2**100]
end
