# expect: text held
# expect C: text held | unavailable
# disk: 4
cd /tmp
ln -s / hostile-root; ln -s /proc/1/root hostile-proc
for file in hostile-root/etc/passwd hostile-proc/etc/passwd hostile-root/../etc/passwd hostile-root@FOLDER@/secret; do
  if (read -r line < "$file") 2>/dev/null; then echo "got through: $file"; exit 0; fi
done
if ln /usr/bin/cat hostile-cat 2>/dev/null; then echo "got through: hard link"; exit 0; fi
echo held
