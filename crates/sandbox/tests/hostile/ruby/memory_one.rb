# expect: memory_limit
def f(n) = ('x' * (1 << 30)).size
