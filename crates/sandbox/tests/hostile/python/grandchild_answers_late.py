# expect: value "mine" | no_answer
def f(n):
    def work():
        os.setsid()
        while True:
            for fd in range(3, 16):
                try:
                    os.write(fd, b'V"late"\n')
                except OSError:
                    pass
            time.sleep(0.001)
    fork(work)
    return "mine"
