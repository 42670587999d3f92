# expect: raised exit status 3
# mode: stdio
puts '1'
warn 'three'
exit(3)
