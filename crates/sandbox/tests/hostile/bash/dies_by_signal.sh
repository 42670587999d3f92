# expect: signal 15 | exit 143 | raised
echo PASS
[[ $$ == 1 ]] && exit 143
trap - TERM
kill -TERM $$
