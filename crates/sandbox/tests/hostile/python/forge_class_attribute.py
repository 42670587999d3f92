# expect: raised TypeError | value {"x":"Liar"}
class Liar:
    @property
    def __class__(self):
        return int
def f(n):
    return Liar()
