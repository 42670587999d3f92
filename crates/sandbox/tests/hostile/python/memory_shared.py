# expect: raised OSError
import mmap
def f(n):
    keep = mmap.mmap(-1, 512 << 20)
    for at in range(0, len(keep), 4096):
        keep[at] = 1
    return "512 MiB of shared memory"
