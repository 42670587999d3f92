# expect: raised ValueError
# then: raised Exception
class Liar(Exception):
    def __str__(self):
        raise SystemExit(0)
def f(n):
    error = ValueError("round")
    error.__cause__ = Liar() if n else error
    raise error
