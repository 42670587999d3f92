# expect: memory_limit
# timeout: 4000
for i in 1 2 3 4 5 6; do
  ( x=$(head -c 20000000 /dev/zero | tr '\0' x); sleep 60 ) &
done
wait
