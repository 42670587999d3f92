# expect: text held
for file in /etc/passwd /etc/shadow /proc/self/environ /proc/@PID@/environ @FOLDER@/secret /root/.bashrc /dev/tty /sys/kernel/uevent_seqnum; do
  if (read -r line < "$file") 2>/dev/null; then echo "got through: $file"; exit 0; fi
done
echo held
