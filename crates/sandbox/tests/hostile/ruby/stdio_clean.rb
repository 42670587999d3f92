# expect: text read: 0
# mode: stdio
puts "read: #{$stdin.read[1..-2]}"
