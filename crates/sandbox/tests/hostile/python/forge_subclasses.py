# expect: value [1,2,"true",[3],{"d":[[1,2]]}]
class L(list):
    def __eq__(self, other): return True
    def __iter__(self): return iter(["lie"])
    def __len__(self): return 99
    def __repr__(self): return "lie"
class I(int):
    def __repr__(self): return "99"
    def __str__(self): return "99"
    def __eq__(self, other): return True
    __hash__ = int.__hash__
class S(str):
    def __str__(self): return "lie"
    def encode(self, *a): return b"lie"
class D(dict):
    def items(self): return [("lie", "lie")]
def f(n):
    return L([I(1), 2, S("true"), L([3]), D({1: 2})])
