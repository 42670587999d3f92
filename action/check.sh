#!/usr/bin/env bash
# Lints workflows and policies, and runs the tests of policies. Nothing here runs the work.
. "${BASH_SOURCE[0]%/*}/runner.sh"

# This only reads files of the checkout, so it does not need root.
AS_ROOT=false
export PROOFMARK_HOME=$FOLDER/none
result=

# A second run for the second format: both commands run no program, and take milliseconds.
check() {
  local name=$1
  shift
  judge "$@" --format=github
  result=$(worse "$result" "$(result_of "$code")")
  proofmark "$@" --format=sarif > "$FOLDER/$name.sarif" 2> /dev/null || true
}

if [ -n "$LINT" ]; then
  files_of lint "$LINT"
  check lint lint "${files[@]}"
fi
if [ -n "$POLICY_TESTS" ]; then
  files_of policy-tests "$POLICY_TESTS"
  for number in "${!files[@]}"; do
    check "policy-test-$number" policy test "${files[$number]}"
  done
fi
output result "$result"
