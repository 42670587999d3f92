# expect: signal 15 | exit 143 | raised
# mode: stdio
# An end by signal 15 is not a normal end, even if the interpreter reports it.
print("PASS", flush=True)
def die():
    signal.signal(15, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [15])
    os.kill(os.getpid(), 15)
if os.getpid() == 1 and 15 != 11:
    # The first process of a namespace does not die of its own signals: it says so instead.
    os._exit(143)
die()
time.sleep(60)
