# expect: memory_limit | no_answer
def f(n)
  keep = []
  loop { keep << Object.new << 'x' * 100 }
end
