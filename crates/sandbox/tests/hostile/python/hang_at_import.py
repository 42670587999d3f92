# expect: timeout
# timeout: 300
while True:
    pass
