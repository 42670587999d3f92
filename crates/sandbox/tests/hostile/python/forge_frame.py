# expect: value "forged" | no_answer
# A forged answer is an answer like any other: it is compared outside.
def f(n):
    for fd in range(64):
        try:
            os.write(fd, b'V"forged"\n')
        except OSError:
            pass
    os._exit(0)
