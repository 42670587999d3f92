#!/usr/bin/env bash
# Checks the inputs, finds the binary, and says how this host isolates what is verified.
. "${BASH_SOURCE[0]%/*}/runner.sh"

check_inputs() {
  case $FAIL_ON in
    partial | fail | error | never) ;;
    *) refuse "the input \`fail-on\` is \`$FAIL_ON\`, and not one of \`partial\`, \`fail\`, \`error\` and \`never\`" ;;
  esac
  local project=$RUN$PROJECT
  [ -n "$REQUEST$project$GATE$LINT$POLICY_TESTS" ] ||
    refuse 'there is nothing to do: set `request`, `run`, `project`, `gate`, `lint` or `policy-tests`'
  [ -z "$REQUEST" ] || [ -z "$project" ] || refuse 'set either `request`, or `run` and `project`'
  [ -z "$SUBMISSION" ] || [ -n "$REQUEST" ] || refuse '`submission` needs `request`, the suite that it must pass'
  [ -z "$TESTS_FROM" ] || [ -n "$project" ] || refuse '`tests-from` needs `run` or `project`'
  [ -z "$BINARY" ] || return 0
  [[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.?[0-9]+)?$ ]] ||
    refuse "the input \`version\` is \`$VERSION\`, and not of the form \`1.2.3\` or \`1.2.3-rc.1\`"
  [[ $REPOSITORY =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] ||
    refuse "the input \`repository\` is \`$REPOSITORY\`, and not of the form \`owner/name\`"
}

check_host() {
  [ "$(uname -s)" = Linux ] || refuse "Proofmark runs on Linux, and this runner has $(uname -s)"
  local program
  for program in jq xargs od; do
    command -v "$program" > /dev/null || refuse "\`$program\` is missing on this runner: install it in an earlier step"
  done
}

find_binary() {
  PROOFMARK=$BINARY
  if [ -z "$BINARY" ]; then
    PROOFMARK=$FOLDER/bin/proofmark
    if ! bash "${BASH_SOURCE[0]%/*}/install.sh" "$FOLDER/bin" > "$FOLDER/install.txt" 2>&1; then
      show "$FOLDER/install.txt"
      refuse "failed to install Proofmark $VERSION: the log has the reason"
    fi
  fi
  if ! [ -f "$PROOFMARK" ] || ! [ -x "$PROOFMARK" ]; then
    refuse "\`$PROOFMARK\` is not a program: set \`binary\` to the path of \`proofmark\`"
  fi
  PROOFMARK=$(realpath -- "$PROOFMARK")
}

# Whether programs can have their own namespaces: the levels A and B.
has_namespaces() {
  { proofmark doctor --json 2> "$FOLDER/messages" || true; } |
    jq -e 'any(.levels[]; .holds and (.level == "A" or .level == "B"))' > /dev/null 2>&1
}

# Hosted runners forbid unprivileged user namespaces, and let `sudo` do anything.
choose_account() {
  if ! has_namespaces && sudo --non-interactive true 2> /dev/null; then
    AS_ROOT=true
    has_namespaces || AS_ROOT=false
  fi
  [ "$AS_ROOT" = false ] || echo 'Proofmark runs with sudo: only root can isolate programs on this host.'
}

check_inputs
check_host
FOLDER=$(mktemp -d "$RUNNER_TEMP/proofmark.XXXXXXXX")
export PROOFMARK_HOME=$FOLDER/none
find_binary
AS_ROOT=false
# Only a verification runs programs.
if [ -n "$REQUEST$RUN$PROJECT" ]; then
  choose_account
  proofmark doctor > "$FOLDER/doctor.txt" 2>&1 || true
  show "$FOLDER/doctor.txt"
fi
output folder "$FOLDER"
output proofmark "$PROOFMARK"
output as-root "$AS_ROOT"
