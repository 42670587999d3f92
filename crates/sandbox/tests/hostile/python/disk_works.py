# expect: value "kept"
# expect C: value "kept" | unavailable
# disk: 4
def f(n):
    with open("/tmp/hostile-file", "w") as file:
        file.write("kept")
    return open("/tmp/hostile-file").read()
