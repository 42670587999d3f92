# expect: value "held"
def f(n):
    import gc
    secret = "the-secret-of-" + "the-host"
    known = {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "PYTHONHASHSEED", "UV_THREADPOOL_SIZE", "OPENSSL_CONF"}
    _libc.getenv.restype = ctypes.c_char_p
    return tried({
        "names": lambda: bool(set(os.environ) - known),
        "environ": lambda: secret in repr(os.environ),
        "libc": lambda: _libc.getenv(b"PROOFMARK_HOSTILE") is not None,
        "memory": lambda: any(secret == s for s in gc.get_objects() if isinstance(s, str)),
    })
