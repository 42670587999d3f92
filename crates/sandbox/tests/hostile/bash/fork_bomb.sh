# expect: own
# timeout: 600
bomb() { bomb | bomb & }
bomb
while :; do :; done
