"""What a reviewer does over the API: see what waits, approve or deny it. The pages at /ui are for people."""

import json
import os
import sys
import urllib.request


def call(path, body=None):
    request = urllib.request.Request(
        os.environ["VERIFIEDX_BASE_URL"] + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": "Bearer " + os.environ["REVIEWER_KEY"], "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def newest():
    """The newest decision that waits for a review."""
    return next(iter(call("/v1/reviews?limit=1")["decisions"]), None) or sys.exit("nothing waits")


if sys.argv[1] == "waiting":
    print(json.dumps(newest()["receipt"]))
elif sys.argv[1] in ("approve", "deny"):
    review = call("/v1/reviews/" + newest()["decision_id"], {"verdict": sys.argv[1], "note": sys.argv[2]})
    print(review["verdict"], "by", review["reviewer"])
elif sys.argv[1] == "story":
    for decision in reversed(call("/v1/decisions")["decisions"]):
        print(decision["mode"], decision["action"]["args"]["subject"])
