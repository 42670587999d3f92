# expect: memory_limit | raised OSError
# Shared pages stay when a process lets go of them, and no longer count as its own.
import mmap
def f(n):
    size, step = 512 << 20, 8 << 20
    keep = mmap.mmap(-1, size)
    for start in range(0, size, step):
        for at in range(start, start + step, 4096):
            keep[at] = 1
        keep.madvise(mmap.MADV_DONTNEED, start, step)
    there = sum(keep[at] for at in range(0, size, step))
    return "%d MiB of shared memory" % (there * (step >> 20))
