# expect: value "held"
def f(n):
    zeros = ctypes.create_string_buffer(4096)
    names = ["bpf", "io_uring_setup", "perf_event_open", "keyctl", "add_key", "userfaultfd", "open_by_handle_at",
             "name_to_handle_at", "kexec_load", "init_module", "swapon", "reboot", "settimeofday", "clock_settime", "adjtimex",
             "acct", "mknodat", "memfd_secret", "shmget", "msgget", "semget", "mq_open", "fanotify_init", "syslog",
             "sched_setscheduler", "ioprio_set", "migrate_pages", "move_pages", "sethostname", "quotactl", "vhangup", "iopl",
             "ioperm", "modify_ldt", "process_madvise"]
    arguments = {"io_uring_setup": (1, zeros), "perf_event_open": (zeros, 0, -1, -1, 0), "bpf": (0, zeros, 64),
                 "shmget": (0, 4096, 0o1600), "msgget": (0, 0o1600), "semget": (0, 1, 0o1600), "mq_open": (b"/x", 0o102, 0o600, None),
                 "adjtimex": (zeros,), "userfaultfd": (1,), "keyctl": (0, -3, 1), "syslog": (10, 0, 0), "add_key": (b"user", b"x", b"y", 1, -3),
                 "mknodat": (-100, b"/tmp/hostile-node", 0o20666, 0x101), "ioprio_set": (1, 0, 0x6000), "sethostname": (b"x", 1)}
    attacks = {name: lambda name=name: syscall(name, *arguments.get(name, (0, 0, 0, 0, 0))) for name in names}
    return tried(attacks)
