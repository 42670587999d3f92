# expect: memory_limit
# Reading memory that was never written costs page tables and nothing else.
import mmap
def f(n):
    size = 1 << 40
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
    for at in range(0, size, 2 << 20):
        area[at]
    return "%d MiB of page tables" % (size >> 29)
