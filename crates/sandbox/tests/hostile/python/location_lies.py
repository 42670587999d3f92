# expect: raised Exception | raised SyntaxError | timeout
# timeout: 400
# then: raised SyntaxError
class Line:
    def __int__(self):
        time.sleep(60)
    def __bool__(self):
        return True
def f(n):
    error = SyntaxError("no", ("<submission>", 1, 1, "x"))
    error.lineno = Line() if n == 0 else -7
    raise error
