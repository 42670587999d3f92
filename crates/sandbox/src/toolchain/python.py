# Runs the cases of a submission in the sandbox. As a zygote it forks one leaf a
# case (`cell/python.rs`, which is loaded as a module); started with "once" it is the leaf.
# A leaf reads its job from one pipe and writes one line a case to another: the
# value it got, or how it failed. It knows nothing of expected values.
#
# A fork copies what is loaded, so this loads little: the modules that a submission is likely to import are named by the
# supervisor.
import sys

sys.path = [entry for entry in sys.path if entry]
import os
from _json import encode_basestring_ascii as quote, make_scanner

TEXT_LIMIT = 2000
CAUSES = 3
CAUSE_LIMIT = 200
TYPES_LIMIT = 16
TYPE_LIMIT = 64
SCOPE = "submission"
FILE = "<submission>"
ADDED = "/zygote.so"
JOB, RESULT = 3, 4
PIECE = 1 << 12
REHEARSALS = 10
REHEARSED = (
    ("expression", "import sys\n\ndef f(*x):\n    return [x, {'a': (1.5, None)}]\n", "f('a')"),
    ("call", "def f(x):\n    return [x, 'a']\n", "f", "[[1]]"),
    ("clean", "[f('a')]", '["f",["a"],{"d":[]}]', 'V{"d":[["a",{"t":[{"f":"1.5"},{"s":[1]}]}]]}'),
    ("clean", "[y + 1 for y in f('a')] == [1.5]"),
    ("calls", "def f(*x):\n    return [x, {'a': (1.5, None)}]\n", "0", '["f",["a"],{"d":[]}]'),
)
MAX_CALLS = 64
ONLY_TREE = 0x400
STREAMS = (sys.stdout, sys.stderr)
TextIOWrapper = type(sys.stdout)
ModuleType = type(sys)
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
        TextIOWrapper.flush(stream)
    except BaseException:
        pass


def hexed(text):
    return text[:TEXT_LIMIT].encode("utf-8", "replace").hex()


def load(source):
    module = ModuleType(SCOPE)
    sys.modules[SCOPE] = module
    exec(compile(source, FILE, "exec"), module.__dict__)
    return module.__dict__


# What reads the arguments of a call, as `json.loads` does.
class Reading:
    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo = {}


scan = make_scanner(Reading)


def call(pieces):
    source, name, given = pieces
    scope = load(source)
    given = scan(given, 0)[0]
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


async def awaited():
    pass


awaited = awaited()
CoroutineType = type(awaited)
awaited.close()


def settled(value):
    if isinstance(value, CoroutineType):
        import asyncio
        return asyncio.run(value)
    return value


def expression(pieces):
    source, text = pieces
    return prepared(text, load(source), settled)


def prepared(text, scope, settle=lambda value: value):
    code = compile(text.strip(), "<input>", "eval")
    return lambda: settle(eval(code, scope))


# An expression is evaluated in a process without the submission ("clean"). There the names of the submission are calls, whose
# results are given to it. Where one is not known yet, it says which calls there are, and the process of the submission
# makes them ("calls"). Both write plain data: values that are whole without their identity.
SIMPLE = frozenset((type(None), bool, int, float, str, bytes, complex))


class Inside(BaseException):
    pass


class Unknown(BaseException):
    pass


class Raised(BaseException):
    pass


class Broken(BaseException):
    pass


# Stands for the result of a call that is not known yet, and for what is computed from it.
class Pending:
    def __getattr__(self, name):
        return self


def itself(self, *given, **named):
    return self


def unknown(self, *given):
    raise Unknown


for name in "call getitem add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg pos abs invert " \
        "and rand or ror xor rxor lshift rlshift rshift rrshift matmul rmatmul divmod rdivmod eq ne lt le gt ge round".split():
    setattr(Pending, "__%s__" % name, itself)
for name in "bool iter len contains hash str repr format index int float complex bytes next enter exit".split():
    setattr(Pending, "__%s__" % name, unknown)


# Whether nothing of a value is lost where it is written; `seen` gets the identities of all that can change.
def is_plain(value, seen):
    kind = type(value)
    if kind in SIMPLE:
        return True
    if kind is Pending:
        raise Inside("f")
    if kind is not tuple:
        if kind not in (list, dict, set) or id(value) in seen:
            return False
        seen.add(id(value))
    return all(is_plain(item, seen) for item in ([*value, *value.values()] if kind is dict else value))


def written(value):
    out = []
    encode(value, out, 0)
    return "".join(out)


def read(text):
    value, end = scan(text, 0)
    if end != len(text):
        raise ValueError
    return decode(value)


def decode(value):
    if type(value) is list:
        return [decode(item) for item in value]
    if type(value) is not dict:
        return value
    (tag, content), = value.items()
    return DECODERS[tag](content)


DECODERS = {
    "f": float,
    "w": lambda content: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "b": bytes.fromhex,
    "c": lambda parts: complex(*map(float, parts)),
    "t": lambda items: tuple(map(decode, items)),
    "s": lambda items: set(map(decode, items)),
    "d": lambda pairs: {decode(key): decode(item) for key, item in pairs},
}


# The calls in one process, one after another, up to the first past those that are certain that has no result.
def calls(pieces):
    source, certain, *texts = pieces
    wanted = [read(text) for text in texts]
    try:
        scope = load(source)
    except BaseException as error:
        return b"L" + failure(error, False)
    frames = []
    for one in wanted:
        frames.append(one_call(scope, *one))
        if len(frames) > int(certain) and b"V" not in frames[-1][:3]:
            break
    return b"\t".join(frames) + b"\n"


def one_call(scope, name, given, named):
    both = [given, named]
    before, mine, theirs, kind = written(both), set(), set(), ""
    is_plain(both, mine)
    try:
        if name not in scope:
            raise NameError("name %r is not defined" % name)
        value = scope[name](*given, **named)
        if isinstance(value, CoroutineType):
            kind = "A"
            value = settled(value)
    except BaseException as error:
        frame = failure(error, True)[:-1]
    else:
        try:
            if not is_plain(value, theirs):
                return b"Sr"
            frame = ("V" + written(value)).encode()
        except BaseException:
            return b"Sr"
    try:
        is_same = not mine & theirs and written(both) == before
    except BaseException:
        is_same = False
    return (("" if is_same else "M") + kind).encode() + frame


# The value of an expression, or the calls that it is made of.
def clean(pieces):
    text, *known = pieces
    try:
        tree = compile(text.strip(), "<input>", "eval", ONLY_TREE)
        code = compile(tree, "<input>", "eval")
    except BaseException as error:
        return failure(error, False)
    made, results = [], dict(enumerate(zip(known[::2], known[1::2])))
    certain = 0

    def result_of(name, given, named):
        nonlocal certain
        if not is_plain([list(given), named], set()):
            raise Inside("a")
        text = written([name, list(given), named])
        made.append(text)
        if len(made) > MAX_CALLS:
            raise Inside("k")
        if certain == len(made) - 1 and results.get(certain, ("",))[0] == text:
            certain += 1
            return known_result(results[certain - 1][1], bool(bound))
        if decides:
            raise Unknown
        return Pending()

    try:
        scope, bound, decides = names_in(tree, result_of)
        value = settled(eval(code, scope))
        if certain < len(made):
            raise Unknown
        if not made:
            raise Inside("0")
        return b"V" + written(value).encode() + b"\n"
    except Inside as why:
        return b"S" + why.args[0].encode() + b"\n"
    except Raised as error:
        if certain == len(made):
            return error.args[0].encode() + b"\n"
    except Broken:
        return b"B\n"
    except BaseException as error:
        if certain == len(made):
            if isinstance(error, NameError) or not made:
                return b"Sn\n" if made else b"S0\n"
            return failure(error, True)
    return ("C%d\t" % certain + "\t".join(made) + "\n").encode()


def known_result(frame, has_names):
    try:
        if frame[:1] == "M":
            frame = frame[1:]
            if has_names:
                raise Inside("m")
        is_awaited = frame[:1] == "A"
        frame = frame[is_awaited:]
        if frame[:1] == "S":
            raise Inside("r")
        if frame[:1] == "E":
            raise Raised(frame)
        if frame[:1] != "V":
            raise ValueError
        value = read(frame[1:])
    except Exception:
        raise Broken from None
    return later(value) if is_awaited else value


async def later(value):
    return value


# What an expression sees: the functions of the submission that it calls, and the modules that it names. With the names that
# it binds itself, and whether it decides what it evaluates.
def names_in(tree, result_of):
    bound, uses, kinds = set(), [], set()
    pending = [(tree, None, ())]
    while pending:
        node, above, around = pending.pop()
        kind = type(node).__name__
        kinds.add(kind)
        if kind == "arg":
            bound.add(node.arg)
        elif kind == "comprehension" and node.ifs:
            kinds.add("IfExp")
        elif kind == "Name":
            if type(node.ctx).__name__ == "Store":
                bound.add(node.id)
            else:
                is_called = type(above).__name__ == "Call" and above.func is node
                uses.append((node.id, is_called, type(above).__name__ == "Attribute", around))
        inside = around
        if kind == "Call" and type(node.func).__name__ == "Name":
            inside = around + (node.func.id,)
        for field in node._fields:
            part = getattr(node, field, None)
            for one in part if type(part) is list else (part,):
                if hasattr(one, "_fields"):
                    pending.append((one, node, around if field == "func" else inside))
    scope = {"__name__": SCOPE}
    own = vars(sys.modules["builtins"])
    theirs = {name for name, is_called, _, _ in uses if is_called and name not in bound and name not in own}
    for name, is_called, is_owner, around in uses:
        if name in bound or name in own:
            continue
        if is_called:
            if theirs.intersection(around):
                raise Inside("f")
            scope[name] = lambda *given, _name=name, **named: result_of(_name, given, named)
        elif is_owner and name not in theirs:
            try:
                scope[name] = __import__(name)
            except ImportError:
                raise Inside("n") from None
        else:
            raise Inside("n")
    return scope, bound, not kinds.isdisjoint(("IfExp", "BoolOp"))


def read_all(fd):
    parts = []
    while True:
        part = os.read(fd, PIECE)
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
    elif mode in ("clean", "calls"):
        frames = ({"clean": clean, "calls": calls}[mode](pieces),)
    else:
        run = {"call": call, "expression": expression}[mode]
        frames = (answer(lambda: run(pieces)),)
    for frame in frames:
        while frame:
            frame = frame[os.write(result, frame):]
    for stream in STREAMS:
        flush(stream)


# What is done for the first time costs a leaf memory of its own: caches are filled, names are bound.
def rehearse():
    for _ in range(REHEARSALS):
        for mode, *pieces in REHEARSED:
            job_out, job_in = os.pipe()
            result_out, result_in = os.pipe()
            lengths = "".join(" %d" % len(piece) for piece in pieces)
            os.write(job_in, (mode + lengths + "\n" + "".join(pieces)).encode())
            os.close(job_in)
            work(job_out, result_in)
            for fd in (result_out, result_in):
                os.close(fd)
    del sys.modules[SCOPE]


# The module is loaded without a search, which would import more.
def zygote():
    if "t" in sys.abiflags:
        # Its objects have another layout than those of the stable ABI.
        import ctypes
        serve = ctypes.PyDLL(ADDED).serve
    else:
        import _frozen_importlib, _imp
        serve = _imp.create_dynamic(_frozen_importlib.ModuleSpec("_zygote", None, origin=ADDED)).serve
        del sys.modules["_zygote"]
    import gc
    rehearse()
    gc.collect()
    gc.freeze()
    serve()


role, modules, *folders = sys.argv[1:]
del sys.argv[2]
sys.path += folders
for module in modules.split():
    __import__(module)
if role == "zygote":
    zygote()
work(JOB, RESULT)
os._exit(0)
