# expect: output_limit | timeout | memory_limit | signal 6
# timeout: 2000
def f(n) = 1 << 50_000_000
