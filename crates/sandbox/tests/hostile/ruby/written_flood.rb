# expect: value "calm"
def f(n)
  200.times do
    puts 'x' * 100_000
    $stderr.write("\e[31m" * 20_000)
  end
  'calm'
end
