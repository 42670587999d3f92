# expect: text held
for limit in u d f n t c; do
  if (ulimit -$limit unlimited) 2>/dev/null; then echo "got through: $limit"; exit 0; fi
done
echo held
