# expect: memory_limit
def f(n)
  12.times do
    fork do
      keep = 'x' * 40_000_000
      sleep 60
      keep
    end
  end
  sleep 60
end
