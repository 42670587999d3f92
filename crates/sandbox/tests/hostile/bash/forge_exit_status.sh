# expect: exit 3 | raised
echo PASS
exit 3
