# expect: memory_limit
# memory: 24
for i in 1 2 3 4 5; do
  ( x=$(head -c 6000000 /dev/zero | tr '\0' x); sleep 60; : ) &
done
wait
