# expect: output_limit
# mode: stdio
while True:
    sys.stdout.buffer.write(b"\xff\xfe no end of line " * 1000)
