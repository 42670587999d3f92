# expect: text x
printf x
