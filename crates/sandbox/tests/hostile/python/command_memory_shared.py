# mode: command
# memory: 96
# disk: 16
# expect: ran held | memory_limit
# expect C: unavailable
import mmap
def f(n):
    def fills(path):
        def attack():
            with open(path, "wb") as file:
                for _ in range(64):
                    file.write(bytes(1 << 20))
        return attack
    def shares():
        # Pages that no process has mapped stay in what is shared.
        memory = mmap.mmap(-1, 1 << 30)
        for at in range(0, 1 << 30, 1 << 20):
            memory[at:at + (1 << 20)] = b"x" * (1 << 20)
            memory.madvise(mmap.MADV_DONTNEED, at, 1 << 20)
    def shares_zero():
        zero = os.open("/dev/zero", os.O_RDWR)
        memory = mmap.mmap(zero, 1 << 30)
        for at in range(0, 1 << 30, 1 << 20):
            memory[at:at + (1 << 20)] = b"x" * (1 << 20)
            memory.madvise(mmap.MADV_DONTNEED, at, 1 << 20)
    def file_in_memory():
        with os.fdopen(os.memfd_create("hostile"), "wb") as file:
            for _ in range(1 << 10):
                file.write(bytes(1 << 20))
    def segment():
        return syscall("shmget", 0, 1 << 30, 0o1600)
    return tried({"disk": fills("/tmp/hostile-full"), "shared memory": fills("/dev/shm/hostile-full"), "mapping": shares,
                  "zeroes": shares_zero, "file in memory": file_in_memory, "segment": segment,
                  "queue": lambda: syscall("msgget", 0, 0o1600), "posix queue": lambda: syscall("mq_open", b"q", 0o102, 0o600, 0)})
