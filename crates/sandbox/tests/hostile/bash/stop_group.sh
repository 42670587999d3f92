# expect: own
# timeout: 600
kill -STOP 0
kill -STOP $$
kill -STOP -1
echo alive
