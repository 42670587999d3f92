# expect: signal 25
# expect C: unavailable
# disk: 4
def f(n)
  File.open('/tmp/full', 'wb') { |file| loop { file.syswrite('x' * 65_536) } }
rescue SystemCallError
  'full'
end
