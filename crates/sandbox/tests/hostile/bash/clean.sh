# expect: text 1
echo 1
