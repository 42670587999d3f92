# expect: text 9
# expect C: text
# mode: stdio
# processes: 10
made = 0
try:
    while made < 200:
        fork(lambda: time.sleep(60))
        made += 1
except OSError:
    pass
print(made, flush=True)
