# expect: timeout
# timeout: 400
trap '' TERM HUP INT QUIT ALRM XCPU PIPE
while :; do sleep 1; done
