"""A support agent that answers a ticket by mail, as far as it is allowed to."""

import sys

from verifiedx import init_verifiedx

MAX_ATTEMPTS = 3


class Mailbox:
    """Stands for a mail server."""

    def send_email(self, to, subject, body):
        print(f"SENT to {to}: {subject}")
        return {"ok": True}


def answer(mailbox, ticket, to, subject, body):
    """Sends the e-mail, and corrects it as the decisions say. Returns True once it was sent."""
    for _ in range(MAX_ATTEMPTS):
        result = mailbox.send_email(to=to, subject=subject, body=body)
        if result["ok"]:
            return True
        for reason in result["reasons"]:
            print(f"blocked: {reason['message']}")
        steps = [step["code"] for step in result["safe_next_steps"]]
        if result["disposition"]["mode"] == "local_replan" and "name_ticket" in steps:
            subject = f"[{ticket}] {subject}"
            print(f"replanned: {subject}")
        else:
            print(f"stopped: {result['disposition']['mode']}, decision {result['decision_id']}")
            return False
    return False


if __name__ == "__main__":
    runtime = init_verifiedx()
    mailbox = Mailbox()
    runtime.install_runtime(mailbox, actions={"send_email": {"action_class": "external_message_send"}})
    ticket = sys.argv[1]
    sent = answer(mailbox, ticket, "customer@example.com", "Your refund", f"Your refund for {ticket} is on its way.")
    sys.exit(0 if sent else 3)
