# expect: text held
# mode: stdio
path = __file__
print(tried({
    "write": lambda: open(path, "w"),
    "unlink": lambda: os.unlink(path),
    "rename": lambda: os.rename(path, path + "x"),
    "chmod": lambda: os.chmod(path, 0o777),
    "sibling": lambda: open(os.path.dirname(path) + "/hostile-file", "w"),
}))
