# expect: own
# expect C: own | unavailable
# disk: 4
# timeout: 1500
cd /tmp
while mkdir hostile-d && cd hostile-d; do :; done 2>/dev/null
echo held
