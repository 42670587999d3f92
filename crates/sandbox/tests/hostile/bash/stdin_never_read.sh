# expect: timeout
# timeout: 300
sleep 600
