# expect: own
# timeout: 800
sleep 600 &
kill -9 -1
kill -9 0
kill -9 $PPID @PID@
echo alive
