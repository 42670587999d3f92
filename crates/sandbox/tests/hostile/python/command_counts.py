# mode: command
# processes: 64
# expect: ran held
# expect C: unavailable
def f(n):
    def many(make, most):
        made = []
        try:
            while len(made) <= most:
                made.append(make())
        except (OSError, RuntimeError):
            return False
        return True
    end = threading.Event()
    def thread():
        new = threading.Thread(target=end.wait)
        new.start()
        return new
    held = tried({"threads": lambda: many(thread, 64), "terminals": lambda: many(os.openpty, 256),
                  "open files": lambda: many(lambda: os.open("/dev/null", os.O_RDONLY), 16384)})
    end.set()
    return held
