# expect: timeout
# timeout: 400
class Slow(Exception):
    def __str__(self):
        while True:
            pass
def f(n):
    raise Slow()
