# expect: own
# timeout: 3000
def f(n):
    sys.setrecursionlimit(10**9)
    def deeper(x):
        return [deeper([x])] if x else deeper([1])
    return deeper(1)
