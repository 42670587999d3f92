# Functions that the scripts of a release share. Those that pack the program are called as `SCRIPT PROGRAM FOLDER`, those that pack
# clients as `SCRIPT FOLDER`. They write into FOLDER.
# shellcheck shell=sh
set -eu

root=$(CDPATH='' cd -- "$(dirname "$0")/../.." && pwd)
version=$("$root/packaging/version.sh")
# The same sources give the same bytes: files are as old as the commit, unless the caller says otherwise.
: "${SOURCE_DATE_EPOCH:=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
export LC_ALL=C
# The level of compression, 0 to 9. Tests use a low one, which is faster.
: "${PACK_LEVEL:=9}"
# What compresses the Debian package. Tests use `gzip`, which is faster.
: "${PACK_DEB:=xz}"

fail() {
    echo "error: failed to $*" >&2
    exit 2
}

# Takes the arguments of a script: sets `program` and `folder`, and `made`, a temporary folder that is removed at the end.
begin() {
    test $# = 2 || { echo "usage: $(basename "$0") PROGRAM FOLDER" >&2; exit 2; }
    program=$(realpath -e -- "$1" 2>/dev/null) || fail "find the program \`$1\`"
    said=$("$program" --version 2>/dev/null) || fail "start \`$1\`"
    test "$said" = "proofmark $version" || fail "pack \`$1\`: it says that it is \`$said\`, and the workspace is $version"
    needs=$(python3 "$root/packaging/elf.py" "$program")
    machine=${needs% *}
    begin_in "$2"
}

# As `begin`, for a script that takes the folder alone.
begin_clients() {
    test $# = 1 || { echo "usage: $(basename "$0") FOLDER" >&2; exit 2; }
    begin_in "$1"
}

begin_in() {
    mkdir -p -- "$1"
    folder=$(CDPATH='' cd -- "$1" && pwd)
    made=$(mktemp -d)
    trap 'rm -rf -- "$made"' EXIT
    trap 'exit 130' INT TERM
    umask 022
}

# Writes the man pages and the completions of the program.
write_pages() {
    "$program" man "$made/man" >/dev/null
    mkdir "$made/completions"
    "$program" completions bash >"$made/completions/proofmark.bash"
    "$program" completions zsh >"$made/completions/_proofmark"
    "$program" completions fish >"$made/completions/proofmark.fish"
}
