# expect: timeout | memory_limit | output_limit
# timeout: 500
def f(n):
    return 1 << (1 << 28)
