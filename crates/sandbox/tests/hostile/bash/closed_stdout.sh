# expect: text  | exit 1
exec 1>&-
