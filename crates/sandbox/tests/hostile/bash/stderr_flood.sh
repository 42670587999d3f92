# expect: timeout
# timeout: 500
yes 1>&2
