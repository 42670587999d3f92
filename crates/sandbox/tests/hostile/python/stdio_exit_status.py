# expect: exit 7
# mode: stdio
print("PASS", flush=True)
os._exit(7)
