"""Calls a server through the runtime SDK; every outcome, and what the SDK makes of it."""

import json
import sys
import time
import urllib.request

from verifiedx import init_verifiedx
from verifiedx.zero_touch import suppress_runtime_capture

base = sys.argv[1]
vx = init_verifiedx()
effects = []


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data=data, headers={"content-type": "application/json"})
    # The SDK watches this process's own requests too; these are the test's, not the agent's.
    with suppress_runtime_capture(), urllib.request.urlopen(request) as response:
        return json.load(response)


class Desk:
    def add_note(self, **arguments):
        effects.append(("add_note", arguments))
        return {"ok": True}

    def edit_note(self, **arguments):
        effects.append(("edit_note", arguments))
        return {"ok": True}

    def close_ticket(self, **arguments):
        effects.append(("close_ticket", arguments))
        return {"ok": True}

    def refund(self, **arguments):
        effects.append(("refund", arguments))
        return {"ok": True}

    def send_email(self, **arguments):
        effects.append(("send_email", arguments))
        return {"ok": True}

    def wipe(self, **arguments):
        effects.append(("wipe", arguments))
        return {"ok": True}


desk = Desk()
classes = {
    "add_note": "record_mutation",
    "edit_note": "record_mutation",
    "close_ticket": "record_mutation",
    "refund": "system_change",
    "send_email": "external_message_send",
    "wipe": "system_change",
}
vx.install_runtime(desk, actions={name: {"action_class": kind} for name, kind in classes.items()})


def attempt(tool, mode, allowed, **arguments):
    before = len(effects)
    result = getattr(desk, tool)(**arguments)
    assert (len(effects) > before) == allowed, (tool, result)
    assert result.get("blocked", False) != allowed, (tool, result)
    derived = vx.last_decision_receipt()
    stored = call("/v1/decisions/" + derived["decision_id"])["receipt"]
    assert stored["disposition"]["mode"] == mode, (tool, stored["disposition"], stored["reasons"])
    same(derived, stored, tool)
    return stored


def same(derived, stored, tool):
    for name, value in derived.items():
        wanted = stored[name]
        if name == "metadata":
            continue
        if name == "outcome" and stored["disposition"]["mode"] == "human_review":
            assert value == "ask_human", value
            continue
        if name == "routing":
            value, wanted = ({k: v for k, v in one.items() if k != "node_id"} for one in (value, wanted))
        if name == "resume_contract":
            wanted = {k: v for k, v in wanted.items() if k in value}
        assert value == wanted, (tool, name, value, wanted)


attempt("add_note", "continue_downstream", True, text="done")
attempt("edit_note", "continue_downstream", True, text="draft")
attempt("close_ticket", "local_replan", False, status="open")
attempt("wipe", "terminal_block", False, disk="all")
with vx.with_upstream_context({"workflow_id": "w-1", "return_to_node": "triage", "source": "planner"}):
    attempt("refund", "upstream_replan", False, amount=5)
attempt("add_note", "continue_downstream", True, text="long " * 5000)  # packed with gzip
asked = attempt("send_email", "human_review", False, to="a@example.com", text="hello")
assert [one["decision_id"] for one in call("/v1/reviews")["decisions"]][0] == asked["decision_id"]
call("/v1/reviews/" + asked["decision_id"], {"verdict": "approve", "note": "read it"})
attempt("send_email", "continue_downstream", True, to="a@example.com", text="hello")
attempt("send_email", "human_review", False, to="a@example.com", text="hello")

deadline = time.monotonic() + 20
while time.monotonic() < deadline and call("/v1/findings")["findings"]:
    time.sleep(0.1)
assert call("/v1/findings")["findings"] == []

# The wrapped effect is run again behind the SDK's back, and reported: once is decided, twice is a finding.
first = call("/v1/decisions?outcome=allow&limit=1")["decisions"][0]
report = {"observed_execution": {"decision_id": first["decision_id"], "side_effect_executed": True, "candidate_hash": "0" * 64}}
print(json.dumps(call("/v4/runtime/boundaries/executions/report", report)["findings"]))
blocked = {"observed_execution": {"decision_id": asked["decision_id"], "side_effect_executed": True}}
print(json.dumps(call("/v4/runtime/boundaries/executions/report", blocked)["findings"]))
print("told")
