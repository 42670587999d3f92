#!/bin/sh
# Has the program check the files of its own release, in FOLDER, and writes the receipt beside them.
# PROOFMARK_RELEASE_KEY names the key that signs: a name or a file [default: `default`].
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
begin "$@"
test -e "$folder/SHA256SUMS" || fail "check the release in \`$2\`: it has no SHA256SUMS"
receipt=$folder/proofmark-$version.receipt.json
rm -f -- "$receipt"
"$program" verify --dir "$folder" --tests-from "$root/packaging/release/checks" --no-config --chain releases \
    --key "${PROOFMARK_RELEASE_KEY:-default}" --out "$made/receipt.json" -- python3 -m unittest >&2 || exit $?
cp "$made/receipt.json" "$receipt"
echo "$receipt"
