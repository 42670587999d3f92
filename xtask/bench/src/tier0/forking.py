import sys

sys.path = [entry for entry in sys.path if entry]
import array, ctypes, gc, io, json, os, resource, signal, socket, types
import bisect, cmath, collections, collections.abc, copy, dataclasses, datetime, decimal, enum, fractions, functools
import heapq, itertools, math, operator, random, re, statistics, string, time, typing


def run(source, expression):
    scope = {}
    exec(compile(source, "<submission>", "exec"), scope)
    return repr(eval(compile(expression, "<input>", "eval"), scope))


for _ in range(3):
    run("def f(x):\n    return [x, {'a': (1.5, None)}]\n", "f(['a'])")
gc.collect()
gc.freeze()
for line in sys.stdin:
    source, expression = json.loads(line)
    pid = os.fork()
    if pid == 0:
        try:
            answer = run(source, expression)
        except BaseException as error:
            answer = type(error).__name__
        os.write(1, answer.replace("\n", " ").encode("utf-8", "replace") + b"\n")
        os._exit(0)
    os.waitpid(pid, 0)
