# expect: timeout
# timeout: 300
sleep
