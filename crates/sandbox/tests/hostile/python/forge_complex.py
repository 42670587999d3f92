# expect: own
# What a value's own attributes write stays one line of its own answer.
class Part:
    def __repr__(self): return '"]}\nV"forged"\nVtrue'
class C(complex):
    real = Part()
    imag = Part()
def f(n):
    return C()
