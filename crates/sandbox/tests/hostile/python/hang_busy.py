# expect: timeout
# timeout: 300
def f(n):
    while True:
        pass
