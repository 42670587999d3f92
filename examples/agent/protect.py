"""Asks Proofmark before a function runs. Copy this file into your agent: it needs nothing but Python 3."""

import functools
import inspect
import json
import os
import time
import urllib.error
import urllib.request

SECONDS_BETWEEN_LOOKS = 0.5


class Blocked(Exception):
    """The action was not executed. `decision` is the receipt; the text is for the model."""

    def __init__(self, decision, review=None):
        reasons = [reason["message"] for reason in decision["reasons"]]
        steps = [step["message"] for step in decision["safe_next_steps"]]
        said = [f"denied by a person, who wrote: {review['note']}"] if review else reasons + steps
        super().__init__(" ".join(["Not executed:", *said, f"(decision {decision['decision_id']})"]))
        self.decision = decision
        self.waits_for_a_person = not review and decision["disposition"]["mode"] == "human_review"


class Undecided(Exception):
    """Nobody could decide, so the action was not executed: the server does not answer, or refuses the request."""


def call(path, body=None):
    """The answer of the server to a request."""
    request = urllib.request.Request(os.environ.get("PROOFMARK_URL", "http://127.0.0.1:8700") + path)
    request.add_header("content-type", "application/json")
    if key := os.environ.get("PROOFMARK_API_KEY"):
        request.add_header("authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, body and json.dumps(body).encode(), timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise Undecided(error.read().decode(errors="replace")) from error
    except OSError as error:
        raise Undecided(f"the server does not answer: {error}") from error


def decide(action, wait=0):
    """Returns once the action may be executed. Waits so many seconds for a person who has to approve it."""
    agent = {"id": os.environ.get("PROOFMARK_AGENT"), "environment": os.environ.get("PROOFMARK_ENVIRONMENT")}
    request = {"action": action, "agent": {name: value for name, value in agent.items() if value}}
    end = time.monotonic() + wait
    while not (decision := call("/v1/decisions", request))["safe_to_execute"]:
        blocked = Blocked(decision)
        reviews = []
        while blocked.waits_for_a_person and not reviews:
            if time.monotonic() > end:
                raise blocked
            time.sleep(SECONDS_BETWEEN_LOOKS)
            reviews = call(f"/v1/decisions/{decision['decision_id']}")["reviews"]
        if not reviews or reviews[-1]["verdict"] != "approved":
            raise Blocked(decision, reviews[-1]) if reviews else blocked


def protected(tool, action_class="generic", wait=0):
    """A function that is executed only if the policy allows it, for exactly the arguments that were decided on."""

    def wrap(function):
        def ask(args, kwargs):
            bound = inspect.signature(function).bind(*args, **kwargs)
            bound.apply_defaults()
            decide({"tool": tool, "class": action_class, "args": dict(bound.arguments)}, wait)

        @functools.wraps(function)
        def run(*args, **kwargs):
            ask(args, kwargs)
            return function(*args, **kwargs)

        @functools.wraps(function)
        async def run_later(*args, **kwargs):
            import asyncio

            await asyncio.to_thread(ask, args, kwargs)
            return await function(*args, **kwargs)

        return run_later if inspect.iscoroutinefunction(function) else run

    return wrap
