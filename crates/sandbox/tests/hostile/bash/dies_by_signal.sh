# expect: signal 15 | exit 143 | raised
# timeout: 1000
echo PASS
[[ $$ == 1 ]] && exit 143
trap - TERM
kill -TERM $$
