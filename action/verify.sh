#!/usr/bin/env bash
# Verifies the work, and has the gate decide on the tree. The key exists only while this runs.
. "${BASH_SOURCE[0]%/*}/runner.sh"

# Programs that are started must not inherit it.
key=$KEY
unset KEY

export PROOFMARK_HOME=$FOLDER/home
# Root keeps its caches out of the home of the user.
export XDG_CACHE_HOME=$FOLDER/cache npm_config_cache=$FOLDER/cache/npm
receipts=$FOLDER/receipts.jsonl
code=0

give_back() {
  [ "$AS_ROOT" = false ] || sudo --non-interactive chown -R "$(id -u):$(id -g)" -- "$FOLDER"
  rm -rf -- "$PROOFMARK_HOME" "$XDG_CACHE_HOME"
}

import_key() {
  fresh=false
  if [ -z "$key" ]; then
    fresh=true
    proofmark key new default > "$FOLDER/key.txt" 2>&1 || refuse 'failed to make a key'
  elif ! printf '%s\n' "$key" | proofmark key import - > "$FOLDER/key.txt" 2>&1; then
    show "$FOLDER/key.txt"
    refuse 'the input `key` is not an Ed25519 private key in PKCS#8 PEM: `openssl genpkey -algorithm ed25519` prints one'
  fi
  key=
  proofmark key show --as pem > "$FOLDER/issuer.pem"
}

# Sets `words` to the words of the input `run`, with quotes as a shell has them. Nothing in it is run.
split_run() {
  printf '%s\n' "$RUN" | xargs printf '%s\0' > "$FOLDER/words" 2> "$FOLDER/messages" ||
    refuse "failed to read the input \`run\`: $(cat "$FOLDER/messages")"
  mapfile -d '' -t words < "$FOLDER/words"
}

# Sets `work` to the arguments that name the work.
name_work() {
  if [ -n "$REQUEST" ]; then
    files_of request "$REQUEST"
    inside submission "$SUBMISSION"
    work=("${files[@]}" ${SUBMISSION:+"--submission=$SUBMISSION"})
    return
  fi
  inside project "$PROJECT"
  case $TESTS_FROM in
    # Anything else is a commit, even if a folder has its name.
    . | .. | /* | ./* | ../* | \~/*) inside tests-from "$TESTS_FROM" ;;
  esac
  work=("--dir=${PROJECT:-.}" ${TESTS_FROM:+"--tests-from=$TESTS_FROM"} ${GATE:+--tree=HEAD})
  [ -z "$RUN" ] || { split_run && work+=(-- "${words[@]}"); }
}

# Sets `verdict` to the worst one of the receipts, or to `error` if it does not agree with the exit code.
read_verdict() {
  verdict=$(jq -rn '[inputs.verdict]
    | if length == 0 or any(IN("pass", "partial", "fail") | not) then "error"
      elif any(. == "fail") then "fail"
      elif any(. == "partial") then "partial"
      else "pass" end' "$receipts" 2> /dev/null) || verdict=error
  case $code:$verdict in
    0:pass | 1:partial | 1:fail) ;;
    *) verdict=error ;;
  esac
}

verify() {
  name_work
  judge verify --format=github "--also=sarif=$FOLDER/verify.sarif" "--also=junit=$FOLDER/junit.xml" "--out=$receipts" \
    ${CHAIN:+"--chain=$CHAIN"} "${work[@]}"
  read_verdict
  result=$(worse "$result" "$verdict")
  output verdict "$verdict"
  [ -s "$receipts" ] || return 0
  output passed "$(jq -n '[inputs.results.passed] | add' "$receipts")"
  output total "$(jq -n '[inputs.results.total] | add' "$receipts")"
  output receipt "$receipts"
  output receipt-id "$(jq -r .receipt_id "$receipts")"
  output content-hash "$(jq -r .signature.content_hash "$receipts")"
}

check_trust() {
  judge receipt verify --format=github "${trusted[@]}" "$receipts"
  result=$(worse "$result" "$(result_of "$code")")
}

decide_gate() {
  inside gate "$GATE"
  local folder=${PROJECT#./} ref=${GITHUB_REF:-}
  folder=${folder%/}
  [ "$folder" != . ] || folder=
  [ -z "${GITHUB_BASE_REF:-}" ] || ref=refs/heads/$GITHUB_BASE_REF
  local tree=HEAD${folder:+:$folder}
  local presented=()
  [ ! -s "$receipts" ] || presented=("--receipt=$receipts")
  code=0
  proofmark gate "--tree=$tree" "--policy=$GATE" ${ref:+"--ref=$ref"} "${presented[@]}" "${trusted[@]}" \
    > "$FOLDER/gate.txt" 2> "$FOLDER/messages" || code=$?
  show "$FOLDER/gate.txt"
  show "$FOLDER/messages"
  case $code in
    0) ;;
    1) annotate error 'the gate refuses this tree: the summary has the reasons' ;;
    *) annotate error 'the gate could not decide on this tree: the log has the reason' ;;
  esac
  [ ! -s "$FOLDER/gate.txt" ] || summarize_file "gate: $(result_of "$code")" "$FOLDER/gate.txt"
  result=$(worse "$result" "$(result_of "$code")")
}

if [ -z "$REQUEST$RUN$PROJECT$GATE" ]; then
  exit 0
fi
result=
lines_of "$TRUST"
trusted=("${lines[@]/#/--trust=}")
for line in "${lines[@]}"; do
  inside trust "${line#*=}"
done
trap give_back EXIT
import_key
if [ -n "$REQUEST$RUN$PROJECT" ]; then
  verify
fi
if [ ${#trusted[@]} -gt 0 ] && [ -s "$receipts" ]; then
  check_trust
fi
if [ -n "$GATE" ]; then
  decide_gate
fi
if [ "$fresh" = true ]; then
  summarize 'Signed with a new key, which is not trusted: the input `key` is empty.'
fi
output result "$result"
