# expect: value 1
# then: value 1
def f(n):
    print("held back")
    if n:
        sys.stdout.close()
        sys.stderr.close()
    else:
        os.close(1)
        os.close(2)
    return 1
