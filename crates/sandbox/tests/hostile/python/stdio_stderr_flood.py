# expect: timeout
# mode: stdio
# timeout: 600
while True:
    try:
        os.write(2, b"x" * 65536)
    except OSError:
        pass
