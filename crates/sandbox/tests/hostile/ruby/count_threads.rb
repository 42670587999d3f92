# expect: value "held"
def f(n)
  made = 0
  begin
    loop do
      Thread.new { sleep }
      made += 1
    end
  rescue ThreadError, NoMemoryError
    nil
  end
  made <= 18 ? 'held' : "#{made} threads"
end
