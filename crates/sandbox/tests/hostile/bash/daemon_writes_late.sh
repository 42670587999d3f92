# expect: text done
( sleep 0.3; echo late ) &
echo done
