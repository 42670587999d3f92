# expect: text held
for folder in '' /tmp /dev/shm /var/tmp /usr/bin /etc . @FOLDER@; do
  if (: > "$folder/hostile-file") 2>/dev/null; then echo "got through: $folder"; exit 0; fi
done
echo held
