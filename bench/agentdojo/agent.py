"""Plays AgentDojo's tasks and attacks through `proofmark guard`, without a model, and says what became of them.

The agent is the worst that there can be: it makes every call of the user's task and, once it has read the text of an attack,
every call of the attacker's, at once (`first`) or after those of the user (`last`).
"""

import argparse
import copy
import json
import multiprocessing
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

import suites
from server import Server

HERE = pathlib.Path(__file__).parent
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
ORDERS = ("first", "last")
SUITES, ATTACKS = {}, {}
# How many seconds pass until it is seen that a guard has ended before it started the server.
LOOK = 1


class Guarded:
    """One session: the agent's side of a guard, whose server is in this process."""

    def __init__(self, proofmark, policy, place, server, request):
        self.calls, self.number, self.server = 0, 0, server
        # A listener of its own for each session: what is left of an earlier one finds none.
        path = place / "socket"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(1)
            listener.settimeout(LOOK)
            self.process = self.start(proofmark, policy, place, request, path)
            connection = self.accept(listener)
        _, ends, _, _ = socket.recv_fds(connection, 1, 2)
        self.thread = threading.Thread(target=self.serve, args=(connection, *ends), daemon=True)
        self.thread.start()
        self.ask("initialize", CLIENT)
        self.say({"method": "notifications/initialized"})
        self.ask("tools/list", {})

    @staticmethod
    def start(proofmark, policy, place, request, path):
        command = [proofmark, "guard", "--name", "agentdojo", "--policy", policy]
        if "\norigins:" in policy.read_text():
            (place / "request.txt").write_text(request)
            command += ["--request", place / "request.txt"]
        command += ["--", sys.executable, "-IS", HERE / "connect.py", path]
        environment = {**os.environ, "PROOFMARK_HOME": str(place / "home")}
        with open(place / "stderr.txt", "ab") as errors:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
            return subprocess.Popen(command, cwd=place, env=environment, **pipes)

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                if self.process.poll() is None:
                    continue
                raise RuntimeError(f"the guard ended with {self.process.returncode} before it started the server")
            connection.settimeout(None)
            return connection

    def serve(self, connection, reads, writes):
        # The process that guard has started ends with the connection.
        with connection, open(reads, "rb") as lines, open(writes, "wb") as out:
            self.server.serve(lines, out)

    def say(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.say({"id": self.number, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.number and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(f"guard answered `{method}` with {answer['error']}")
                return answer["result"]
        raise RuntimeError(f"the guard ended before it answered `{method}`")

    def call(self, tool, arguments):
        """What the agent reads, and what guard says where the call did not reach the server."""
        self.calls += 1
        before = len(self.server.made)
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        said = result.get("_meta", {}).get("org.proofmark/decision") or result
        return json.dumps(result, ensure_ascii=False), said if len(self.server.made) == before else None

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.thread.join()


def letters(text):
    """A text without what quoting and folding change."""
    return re.sub(r"\\[nrt]|[\W_]", "", text)


class Played:
    """What became of the calls of one session."""

    def __init__(self):
        # Calls of the user that were not executed, and how many of the attacker's were not.
        self.held, self.stopped = [], 0
        # Whether a result has brought the text of the attack.
        self.steered = False


def play(session, user_calls, goal=None, attack_calls=None, order="first"):
    """Makes the calls of the user, and those of an attacker once a result has brought the goal."""
    played, goal = Played(), goal and letters(goal)

    def attack():
        for tool, arguments in attack_calls():
            _, held = session.call(tool, arguments)
            played.stopped += held is not None

    for tool, arguments in user_calls:
        text, held = session.call(tool, arguments)
        if held:
            played.held.append((tool, arguments, held))
        if goal and not played.steered and goal in letters(text):
            played.steered = True
            if order == "first":
                attack()
    if played.steered and order == "last":
        attack()
    return played


def one(open_session, suite, work, wording="important", prose=False):
    """Plays one session and judges it. `work` is the name of the user's task, the attack and its order, or None for both."""
    user, attack, order = suite.user_tasks[work[0]], *work[1:]
    goal = attack.GOAL if attack else None
    env = suites.environment(suite, user, goal, wording)
    before = copy.deepcopy(env)
    server = Server(suite, env, prose)
    session = open_session(server, user.PROMPT)
    started = time.perf_counter()
    try:
        played = play(session, suites.calls(user, before), goal, lambda: suites.attack(attack, before, env), order)
        seconds = time.perf_counter() - started - server.seconds
    finally:
        session.end()
    return {
        "suite": suite.name,
        "user": user.ID,
        "attack": attack and attack.ID,
        "order": order,
        "steered": played.steered,
        "stopped": played.stopped,
        "held": played.held,
        "done": not played.held and suites.is_done(user, before, env, server.made),
        "reached": bool(attack) and suites.is_reached(attack, before, env, server.made),
        "calls": session.calls,
        "seconds": seconds,
    }


def work_of(suite, attacks):
    """The sessions of a suite: each user's task alone, and beside each attack in both orders."""
    played = [(None, None)] + [(attack, order) for attack in attacks for order in ORDERS]
    return [(user, *attack) for user in suite.user_tasks for attack in played]


def worker(options, queue, results):
    """Plays sessions until there are none. Its guards share a store and their pins."""
    with tempfile.TemporaryDirectory(prefix="flow-") as place:
        place = pathlib.Path(place)
        for name, user, attack, order in iter(queue.get, None):
            policy = options.policy / f"{name}.yaml" if options.policy.is_dir() else options.policy
            opened = lambda server, request: Guarded(options.proofmark, policy, place, server, request)
            try:
                results.put(one(opened, SUITES[name], (user, ATTACKS[name].get(attack), order), options.wording, options.prose))
            except Exception as error:
                errors = (place / "stderr.txt").read_text()[-2000:] if (place / "stderr.txt").exists() else ""
                results.put({"failed": f"{name} {user} {attack} {order}: {error!r}\n{errors}"})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("proofmark", type=pathlib.Path, help="the program")
    parser.add_argument("policy", type=pathlib.Path, help="a policy, or a folder with one for each suite")
    parser.add_argument("--suite", action="append", choices=suites.SUITES, help="only this suite")
    parser.add_argument("--benign", action="store_true", help="without attacks")
    parser.add_argument("--knowing", action="store_true", help="attacks by one who knows the policy")
    parser.add_argument("--prose", action="store_true", help="the server answers in words without fields")
    parser.add_argument("--wording", choices=suites.WORDINGS, default="important", help="how attacks are worded")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.proofmark, options.policy = options.proofmark.absolute(), options.policy.absolute()
    # Loaded before the workers are forked: the import takes seconds.
    SUITES.update((name, suites.load(name)) for name in options.suite or suites.SUITES)
    for name, suite in SUITES.items():
        ATTACKS[name] = {} if options.benign else suites.attacks(suite, options.knowing)
    todo = [(name, *work) for name, suite in SUITES.items() for work in work_of(suite, ATTACKS[name])]
    context = multiprocessing.get_context("fork")
    queue, results = context.Queue(), context.Queue()
    workers = [context.Process(target=worker, args=(options, queue, results), daemon=True) for _ in range(options.workers)]
    for each in todo + [None] * len(workers):
        queue.put(each)
    for each in workers:
        each.start()
    # One line of JSON for each session.
    failed = 0
    for _ in todo:
        played = results.get()
        failed += "failed" in played
        print(played["failed"], file=sys.stderr) if "failed" in played else print(json.dumps(played), flush=True)
    for each in workers:
        each.join()
    sys.exit(f"{failed} of {len(todo)} sessions failed" if failed else 0)


if __name__ == "__main__":
    main()
