# expect: memory_limit
# expect C: unavailable
# disk: 4
# Every other byte of a file, of many files, by many processes.
import fcntl
def f(n):
    def lock(mine):
        for number in range(120):
            file = os.open("/tmp/hostile-%d-%d" % (mine, number), os.O_CREAT | os.O_RDWR)
            for at in range(0, 1_400, 2):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
        time.sleep(600)
    for mine in range(4):
        fork(lambda: lock(mine))
    time.sleep(600)
