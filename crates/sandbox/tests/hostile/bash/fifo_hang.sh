# expect: timeout | raised
# expect C: timeout | raised | unavailable
# disk: 4
# timeout: 400
mkfifo /tmp/hostile-fifo || exit 1
read -r x < /tmp/hostile-fifo
