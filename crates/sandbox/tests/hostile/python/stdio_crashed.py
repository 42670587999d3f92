# expect: signal 11 | exit 139 | raised
# mode: stdio
# An end by signal 11 is not a normal end, even if the interpreter reports it.
print("PASS", flush=True)
def die():
    signal.signal(11, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [11])
    ctypes.string_at(0)
if os.getpid() == 1 and 11 != 11:
    # The first process of a namespace does not die of its own signals: it says so instead.
    os._exit(139)
die()
time.sleep(60)
