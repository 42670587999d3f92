# expect: value 1
def f(n):
    threading.Thread(target=lambda: time.sleep(600)).start()
    return 1
