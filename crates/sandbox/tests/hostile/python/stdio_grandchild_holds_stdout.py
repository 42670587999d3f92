# expect: text done
# mode: stdio
fork(lambda: (os.setsid(), time.sleep(600)))
os.write(1, b"done\n")
os._exit(0)
