# expect: memory_limit | exit 1 | exit 2 | raised
head -c 1G /dev/zero | tail
