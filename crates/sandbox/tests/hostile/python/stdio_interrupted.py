# expect: signal 2 | exit 130 | raised
# mode: stdio
# An end by signal 2 is not a normal end, even if the interpreter reports it.
print("PASS", flush=True)
def die():
    signal.signal(2, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [2])
    os.kill(os.getpid(), 2)
if os.getpid() == 1 and 2 != 11:
    # The first process of a namespace does not die of its own signals: it says so instead.
    os._exit(130)
die()
time.sleep(60)
