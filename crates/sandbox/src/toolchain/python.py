# Runs the cases of a submission in the sandbox. As a zygote (descriptor 3 is the
# control socket) it forks one leaf a case; started with "once" it is the leaf.
# A leaf reads its job from one pipe and writes one line a case to another: the
# value it got, or how it failed. It knows nothing of expected values.
import sys

sys.path = [entry for entry in sys.path if entry]
import array, ctypes, gc, io, json, os, resource, signal, socket, types
import bisect, cmath, collections, collections.abc, copy, dataclasses, datetime, decimal, enum, fractions, functools
import heapq, itertools, math, operator, random, re, statistics, string, time, typing
from json.encoder import encode_basestring_ascii as quote

CLONE_NEWPID = 0x20000000
PIDFD_OPEN = 434
CAPSET = {"x86_64": 126, "aarch64": 91}[os.uname().machine]
TEXT_LIMIT = 2000
CAUSES = 3
CAUSE_LIMIT = 200
TYPES_LIMIT = 16
TYPE_LIMIT = 64
SCOPE = "submission"
FILE = "<submission>"
STREAMS = (sys.stdout, sys.stderr)
# So that what was printed before a case was killed is there.
sys.stdout.reconfigure(line_buffering=True)

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)


class Unsupported(Exception):
    pass


def encode(value, out, depth):
    if depth > 120:
        raise Unsupported("value nested deeper than 120")
    kind = type(value)
    if value is None:
        out.append("null")
    elif kind is bool:
        out.append("true" if value else "false")
    elif isinstance(value, int):
        out.append(int.__repr__(value))
    elif isinstance(value, str):
        try:
            str.encode(value)
            out.append(quote(str.__str__(value)))
        except UnicodeEncodeError:
            out.append('{"w":"%s"}' % str.encode(value, "utf-8", "surrogatepass").hex())
    elif isinstance(value, float):
        out.append('{"f":"%s"}' % float.__repr__(value))
    elif isinstance(value, list):
        sequence("[", list.__iter__(value), "]", out, depth)
    elif isinstance(value, tuple):
        sequence('{"t":[', tuple.__iter__(value), "]}", out, depth)
    elif isinstance(value, dict):
        out.append('{"d":[')
        comma = ""
        for key, item in dict.items(value):
            out.append(comma + "[")
            encode(key, out, depth + 1)
            out.append(",")
            encode(item, out, depth + 1)
            out.append("]")
            comma = ","
        out.append("]}")
    elif isinstance(value, set):
        sequence('{"s":[', set.__iter__(value), "]}", out, depth)
    elif isinstance(value, frozenset):
        sequence('{"s":[', frozenset.__iter__(value), "]}", out, depth)
    elif isinstance(value, bytes):
        out.append('{"b":"%s"}' % bytes.hex(value))
    elif isinstance(value, bytearray):
        out.append('{"b":"%s"}' % bytearray.hex(value))
    elif isinstance(value, complex):
        out.append('{"c":["%r","%r"]}' % (value.real, value.imag))
    else:
        out.append('{"x":%s}' % quote(str(kind.__name__)[:200]))


def sequence(before, items, after, out, depth):
    out.append(before)
    comma = False
    for item in items:
        if comma:
            out.append(",")
        encode(item, out, depth + 1)
        comma = True
    out.append(after)


# `prepare` returns what is to be called; only what that raises is an exception
# of the call.
def answer(prepare):
    called = False
    try:
        run = prepare()
        called = True
        value = run()
        called = False
        out = ["V"]
        encode(value, out, 0)
        return "".join(out).encode() + b"\n"
    except BaseException as error:
        return failure(error, called)


def failure(error, called):
    line, names = 0, []
    try:
        kind = type(error).__name__
        text = error.args[0] if isinstance(error, Unsupported) else said(error)
        line = max(int(last_line(error)), 0)
        if called:
            names = [base.__name__[:TYPE_LIMIT] for base in type.mro(type(error))[:TYPES_LIMIT]]
        return exception(kind, text, line, names)
    except BaseException:
        return exception("Exception", "an exception that cannot be shown", line, [])


def exception(kind, text, line, names):
    return b"E" + " ".join([hexed(kind), hexed(text), str(line), *map(hexed, names)]).encode() + b"\n"


# What an exception says, with a line for each exception that led to it.
def said(error):
    lines = [(unreadable(error) or str(error))[:TEXT_LIMIT]]
    for _ in range(CAUSES):
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if error is None:
            break
        lines.append("caused by %s: %s" % (type(error).__name__, str(error)[:CAUSE_LIMIT]))
    return "\n".join(lines)


def unreadable(error):
    if isinstance(error, SyntaxError) and error.filename == FILE and error.text:
        return "%s: %s" % (error.msg, error.text.strip()[:CAUSE_LIMIT])


# The line of the submission where it failed; 0 where there is none.
def last_line(error):
    if isinstance(error, SyntaxError) and error.filename == FILE:
        return error.lineno or 0
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


# A leaf ends without the interpreter's own end, so what waits in these is written here. The submission may have closed them.
def flush(stream):
    try:
        io.TextIOWrapper.flush(stream)
    except BaseException:
        pass


def hexed(text):
    return text[:TEXT_LIMIT].encode("utf-8", "replace").hex()


def load(source):
    module = types.ModuleType(SCOPE)
    sys.modules[SCOPE] = module
    exec(compile(source, FILE, "exec"), module.__dict__)
    return module.__dict__


def call(pieces):
    source, name, given = pieces
    scope = load(source)
    given = json.loads(given)
    if type(given) is list:
        given = {"args": given, "kwargs": {}}
    target = find(scope, name, given.get("construct"))
    return lambda: settled(target(*given["args"], **given["kwargs"]))


def find(scope, name, construct):
    first, _, method = name.partition(".")
    if first not in scope:
        raise NameError("the submission defines no `%s`" % first)
    owner = scope[first]
    if not method:
        return owner
    if construct or needs_object(owner, method):
        owner = owner(*construct["args"], **construct["kwargs"]) if construct else owner()
    if not hasattr(owner, method):
        raise AttributeError("`%s` has no `%s`" % (first, method))
    return getattr(owner, method)


# Whether a name of a class is that of a method of its objects.
def needs_object(owner, method):
    if not isinstance(owner, type):
        return False
    for base in type.mro(owner):
        if method in base.__dict__:
            found = base.__dict__[method]
            return hasattr(type(found), "__get__") and not isinstance(found, (staticmethod, classmethod))
    return False


def settled(value):
    if isinstance(value, types.CoroutineType):
        import asyncio
        return asyncio.run(value)
    return value


def expression(pieces):
    source, text = pieces
    return prepared(text, load(source), settled)


def prepared(text, scope, settle=lambda value: value):
    code = compile(text.strip(), "<input>", "eval")
    return lambda: settle(eval(code, scope))


def read_all(fd):
    parts = []
    while True:
        part = os.read(fd, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def work(job, result):
    head, _, rest = read_all(job).partition(b"\n")
    mode, *lengths = head.decode().split()
    os.close(job)
    pieces, at = [], 0
    for length in map(int, lengths):
        pieces.append(rest[at:at + length].decode())
        at += length
    if mode == "pristine":
        frames = (answer(lambda: prepared(text, {"__name__": SCOPE})) for text in pieces)
    else:
        run = {"call": call, "expression": expression}[mode]
        frames = (answer(lambda: run(pieces)),)
    for frame in frames:
        while frame:
            frame = frame[os.write(result, frame):]
    for stream in STREAMS:
        flush(stream)
    os._exit(0)


# What a leaf would otherwise do for the first time: the compiler and the
# decoder set themselves up when first used.
def rehearse():
    for _ in range(3):
        answer(lambda: call(["import math\ndef f(x):\n    return [x, {'a': (1.5, None)}]\n", "f", '["a"]']))
        answer(lambda: expression(["def f(x):\n    return x\n", "f([1, 'a'])"]))
    del sys.modules[SCOPE]


# What a leaf would share with the zygote and with every other leaf.
def alone(written):
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for fd, standard in ((null, 0), (written[0], 1), (written[1], 2)):
        os.dup2(fd, standard)
        os.close(fd)
    signal.signal(signal.SIGINT, signal.default_int_handler)


class CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def zygote():
    libc = ctypes.CDLL(None, use_errno=True)
    syscall, prctl, unshare, setns = libc.syscall, libc.prctl, libc.unshare, libc.setns
    control = socket.socket(fileno=3)
    code = control.recv(4096)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.addressof(buffer))
    header = CapHeader(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    itself = syscall(PIDFD_OPEN, os.getpid(), 0)
    header_at, nothing_at, program_at = map(ctypes.byref, (header, nothing, program))
    size = array.array("i").itemsize * 4
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rehearse()
    gc.collect()
    gc.freeze()
    control.send(b"ready")
    while True:
        limits, ancillary, _, _ = control.recvmsg(256, socket.CMSG_SPACE(size))
        if not limits:
            os._exit(0)
        fds = array.array("i")
        fds.frombytes(ancillary[0][2][:size])
        job, result, *written = fds
        if unshare(CLONE_NEWPID) != 0:
            os._exit(70)
        try:
            pid = os.fork()
        except OSError:
            os._exit(71)
        if pid == 0:
            data, processes, cpu = array.array("Q", limits)
            resource.setrlimit(resource.RLIMIT_DATA, (data, data))
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
            control.close()
            os.close(itself)
            alone(written)
            if syscall(CAPSET, header_at, nothing_at) != 0 or prctl(22, 2, program_at, 0, 0) != 0:
                os._exit(72)
            work(job, result)
        if setns(itself, CLONE_NEWPID) != 0:
            os._exit(73)
        leaf = syscall(PIDFD_OPEN, pid, 0)
        control.sendmsg([b"P"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [leaf]))])
        for fd in (leaf, *fds):
            os.close(fd)
        _, status = os.waitpid(pid, 0)
        control.send(b"S" + status.to_bytes(4, sys.byteorder))


role, *folders = sys.argv[1:]
sys.path += folders
if role == "once":
    work(3, 4)
else:
    zygote()
