# expect: text done
# mode: stdio
puts 'done'
$stdout.flush
fork { Process.setsid; sleep }
exit!(0)
