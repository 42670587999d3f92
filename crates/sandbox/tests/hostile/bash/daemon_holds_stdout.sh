# expect: text done
setsid sleep 600 &
( trap '' TERM HUP INT; exec -a innocent sleep 600 ) &
disown -a
echo done
