# expect: output_limit
cat /dev/zero
