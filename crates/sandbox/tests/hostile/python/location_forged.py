# expect: raised SyntaxError
# then: raised ZeroDivisionError
def f(n):
    if n == 0:
        raise SyntaxError("\x1b[2J\nforged", ("<submission>", 10**400, 1, "\x1b]0;x\x07" * 100_000))
    exec(compile("\n" * 5_000_000 + "1/0", "<submission>", "exec"))
