# expect: text held
# expect C: text held | unavailable
# disk: 4
cd /tmp
for i in 1 2 3 4 5 6 7 8 9; do head -c 2000000 /dev/zero > hostile-$i 2>/dev/null || break; done
total=0
for file in hostile-*; do total=$((total + $(stat -c %s "$file"))); done
if ((total <= 5000000)); then echo held; else echo "$total bytes"; fi
