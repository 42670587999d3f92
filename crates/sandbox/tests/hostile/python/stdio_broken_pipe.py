# expect: signal 13 | exit 141 | raised
# mode: stdio
# An end by signal 13 is not a normal end, even if the interpreter reports it.
print("PASS", flush=True)
def die():
    signal.signal(13, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [13])
    os.kill(os.getpid(), 13)
if os.getpid() == 1 and 13 != 11:
    # The first process of a namespace does not die of its own signals: it says so instead.
    os._exit(141)
die()
time.sleep(60)
