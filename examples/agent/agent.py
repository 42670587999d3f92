"""A support agent that answers a ticket by mail, as far as it is allowed to."""

import argparse
import json
import os
import re
import sys
import time
import urllib.request

from verifiedx import init_verifiedx

MAX_ATTEMPTS = 6


class Mailbox:
    """Stands for a mail server."""

    def send_email(self, to, subject, body):
        print(f"SENT to {to}: {subject}")
        return {"ok": True}


def review_of(decision, seconds):
    """The review of a decision, once there is one; None when it takes longer."""
    request = urllib.request.Request(
        f"{os.environ['VERIFIEDX_BASE_URL']}/v1/decisions/{decision}",
        headers={"authorization": "Bearer " + os.environ["VERIFIEDX_API_KEY"]},
    )
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with urllib.request.urlopen(request) as response:
            reviews = json.load(response)["reviews"]
        if reviews:
            return reviews[-1]
        time.sleep(0.5)
    return None


def revised(body, note):
    """Stands for the model, which would write the mail anew: adds what the note puts in quotes."""
    return " ".join([body, *re.findall('["“](.+?)["”]', note)])


def answer(mailbox, ticket, mail, wait):
    """Sends the e-mail, and corrects it as decisions and reviewers say. Returns True once it was sent."""
    reviewed = None
    for _ in range(MAX_ATTEMPTS):
        result = mailbox.send_email(**mail)
        if result["ok"]:
            return True
        # The SDK answers one repeated call from its memory; the call after that is asked anew.
        if result["decision_id"] == reviewed:
            continue
        for reason in result["reasons"]:
            print(f"blocked: {reason['message']}", flush=True)
        mode, decision = result["disposition"]["mode"], result["decision_id"]
        if mode == "local_replan" and "name_ticket" in [step["code"] for step in result["safe_next_steps"]]:
            mail["subject"] = f"[{ticket}] {mail['subject']}"
            print(f"replanned: {mail['subject']}")
            continue
        review = review_of(decision, wait) if mode == "human_review" else None
        reviewed = decision
        if review is None:
            print(f"stopped: {mode}, decision {decision}")
            return False
        print(f"{review['verdict']} by {review['reviewer']}: {review['note']}", flush=True)
        if review["verdict"] == "denied":
            before, mail["body"] = mail["body"], revised(mail["body"], review["note"])
            # The same mail would only be denied again.
            if mail["body"] == before:
                print(f"stopped: it does not know what to change, decision {decision}")
                return False
            print(f"changed: {mail['body']}")
    return False


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("ticket")
    arguments.add_argument("--wait", type=float, default=0, help="how many seconds to wait for each review")
    arguments = arguments.parse_args()
    runtime = init_verifiedx()
    mailbox = Mailbox()
    runtime.install_runtime(mailbox, actions={"send_email": {"action_class": "external_message_send"}})
    body = f"Your refund for {arguments.ticket} is on its way."
    mail = {"to": "customer@example.com", "subject": "Your refund", "body": body}
    sys.exit(0 if answer(mailbox, arguments.ticket, mail, arguments.wait) else 3)
