# expect: no_answer
# A new program in the same process has the same walls; its answer would be its own.
def f(n):
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "print('PASS')"])
