# expect: memory_limit | raised OSError
# The mapping goes, a pipe of descriptors keeps nothing: only mappings hold it.
import mmap
def f(n):
    keep = []
    for _ in range(64):
        part = mmap.mmap(-1, 8 << 20)
        for at in range(0, len(part), 4096):
            part[at] = 1
        part.madvise(mmap.MADV_DONTNEED)
        keep.append(part)
    return "512 MiB of shared memory"
