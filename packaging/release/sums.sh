#!/bin/sh
# Writes SHA256SUMS of every file in FOLDER.
set -eu
test $# = 1 || { echo "usage: $(basename "$0") FOLDER" >&2; exit 2; }
cd -- "$1"
rm -f SHA256SUMS
test -n "$(ls)" || { echo "error: failed to write the sums of \`$1\`: it is empty" >&2; exit 2; }
sha256sum -- * >SHA256SUMS.new
mv SHA256SUMS.new SHA256SUMS
