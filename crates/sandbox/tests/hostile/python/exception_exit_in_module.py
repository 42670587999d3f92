# expect: raised SystemExit
raise SystemExit("at import")
