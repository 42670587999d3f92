# expect: own
# timeout: 500
require 'continuation'
def f(n)
  $again ||= callcc { |continuation| continuation }
  $again.call($again) if $again.respond_to?(:call) && ($times = $times.to_i + 1) < 5
  1
end
