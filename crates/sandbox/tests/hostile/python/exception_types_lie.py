# expect: own
class Names(type):
    @property
    def __name__(cls):
        return 7
    def mro(cls):
        return [cls, Exception, BaseException, object]
class Lie(Exception, metaclass=Names):
    pass
def f(n):
    raise Lie("x" * 10_000)
