# expect: text 
# mode: stdio
$stdout.close
