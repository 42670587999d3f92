# expect: timeout
# timeout: 300
def f(n)
  Signal.list.each_value do |number|
    trap(number) { sleep }
  rescue ArgumentError, SystemCallError
    nil
  end
  begin
    sleep
  rescue Exception
    retry
  end while true
end
