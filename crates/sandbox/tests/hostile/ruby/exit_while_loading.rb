# expect: raised SystemExit
exit(0)
