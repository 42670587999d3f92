# expect: value
# then: value "clean"
def f(n):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.bind("\0hostile-mark")
        s.listen()
        fork(lambda: time.sleep(600))
    except OSError as error:
        return "clean" if error.errno != errno.EADDRINUSE else "still bound"
    return "clean"
