# expect: timeout
# timeout: 300
import re
def f(n):
    return bool(re.match("(a+)+b", "a" * 60))
