# expect: memory_limit | raised
# mode: stdio
x = bytearray(1 << 30)
