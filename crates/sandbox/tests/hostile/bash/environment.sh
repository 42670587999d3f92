# expect: text held
if [[ "$(env; declare -p)" == *"the-secret-of-"the-host* ]]; then echo through; else echo held; fi
