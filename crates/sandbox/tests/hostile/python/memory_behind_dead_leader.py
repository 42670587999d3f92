# expect: memory_limit | no_answer | signal 9
# A first thread that has left takes its numbers in /proc with it.
import mmap
def f(n):
    def work():
        time.sleep(0.05)
        keep = mmap.mmap(-1, 512 << 20)
        for at in range(0, len(keep), 4096):
            keep[at] = 1
        for fd in range(3, 16):
            try:
                os.write(fd, b'V"512 MiB behind a dead leader"\n')
            except OSError:
                pass
        os._exit(0)
    threading.Thread(target=work).start()
    ctypes.CDLL(None).syscall(NR["exit"], 0)
