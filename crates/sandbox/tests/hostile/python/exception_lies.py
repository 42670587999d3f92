# expect: raised
class Meta(type):
    @property
    def __name__(cls):
        raise KeyboardInterrupt
class Liar(BaseException, metaclass=Meta):
    def __str__(self):
        raise SystemExit(0)
def f(n):
    raise Liar()
