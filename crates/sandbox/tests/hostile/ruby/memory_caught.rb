# expect: own
# timeout: 800
def f(n)
  keep = []
  loop do
    keep << 'x' * 1_000_000
  rescue NoMemoryError
    nil
  end
end
