#!/bin/sh
# Checks the files of a release in FOLDER with the program of that release, and writes the receipt beside them.
# PROOFMARK_RELEASE_KEY names the key that signs: a name or a file [default: the key `default`, made on first use].
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
begin "$@"
test -e "$folder/SHA256SUMS" || fail "check the release in \`$2\`: it has no SHA256SUMS"
receipt=$folder/proofmark-$version.receipt.json
rm -f -- "$receipt"
set -- --chain releases --out "$made/receipt.json"
test -z "${PROOFMARK_RELEASE_KEY:-}" || set -- "$@" --key "$PROOFMARK_RELEASE_KEY"
# The receipt has the path of the checks as it is written here.
cd "$root"
"$program" verify --dir "$folder" --tests-from ./packaging/release/checks --no-config --timeout 5m "$@" -- python3 -m unittest >&2 || exit $?
cp "$made/receipt.json" "$receipt"
echo "$receipt"
