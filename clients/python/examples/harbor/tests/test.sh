#!/bin/bash
# Verifier of a Harbor task: the reward is the verdict of `proofmark verify` on /app/solution.py, with a receipt beside it.
# The image of the verifier needs `proofmark`. An agent that works as root in the same container can replace it: then give the
# verifier a separate environment. In task.toml this is `artifacts = ["/app/solution.py"]`, and `environment_mode = "separate"` below
# `[verifier]`.
set -euo pipefail

logs=/logs/verifier
mkdir -p "$logs"
# Harbor reads `reward.json` first.
rm -f "$logs/reward.json" "$logs/reward.txt" "$logs/receipt.json"

# A link could lead to what the agent has not written.
if [ ! -f /app/solution.py ] || [ -L /app/solution.py ]; then
  echo "the agent has written no /app/solution.py"
  echo 0 > "$logs/reward.txt"
  exit 0
fi

code=0
proofmark verify /tests/suite.yaml --submission /app/solution.py --no-store --out "$logs/receipt.json" || code=$?
case $code in
  0) echo 1 > "$logs/reward.txt" ;;
  1) echo 0 > "$logs/reward.txt" ;;
  # The work could not be verified, so the agent gets no reward.
  *) exit "$code" ;;
esac
