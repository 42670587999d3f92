#!/usr/bin/env bash
# Ends with 0, with 1 where the work fails, and with 2 where it could not be judged.
. "${BASH_SOURCE[0]%/*}/runner.sh"

# This result and every worse one turn the step red.
case $FAIL_ON in
  partial) red='partial fail error' ;;
  fail) red='fail error' ;;
  error) red=error ;;
  never) red= ;;
  *) red='pass partial fail error' ;;
esac
# An earlier step without a result could not judge.
result=${RESULT:-error}
case " $red " in
  *" $result "*) ;;
  *) exit 0 ;;
esac
if [ "$result" = error ]; then
  annotate error 'it could not be judged: see the log of the earlier steps'
  exit 2
fi
annotate error "the result is $result"
exit 1
