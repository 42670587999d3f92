#!/bin/sh
# Installs the `proofmark` program of a release for this user:
#
#   PROOFMARK_BASE_URL=https://…/releases/download/v1.2.3 sh install.sh
#
# PROOFMARK_BASE_URL   the address that has SHA256SUMS and the archives of one release
# PROOFMARK_BIN_DIR    the folder that gets the program [default: ~/.local/bin]
#
# The sums come from the same address as the archive, so they show damage, but not a forged release. `gh attestation verify ARCHIVE` shows one.
set -eu

MAX_BYTES=209715200
MAX_SECONDS=600

fail() {
    echo "error: failed to $*" >&2
    exit 2
}

main() {
    base=${PROOFMARK_BASE_URL:-}
    test -n "$base" || fail 'install proofmark: say which release in PROOFMARK_BASE_URL, the address that has its SHA256SUMS'
    base=${base%/}
    case $base in
        *[@?\#]*) fail "fetch from \`$base\`: use an address without a user, a query or a fragment" ;;
        https://* | http://127.0.0.1:*) ;;
        *) fail "fetch from \`$base\`: use an address that begins with https://" ;;
    esac
    bin=${PROOFMARK_BIN_DIR:-${HOME:?}/.local/bin}
    # `mv` would put the program into it.
    test ! -d "$bin/proofmark" || fail "install proofmark: \`$bin/proofmark\` is a folder; remove it, or name another folder in PROOFMARK_BIN_DIR"
    command -v curl >/dev/null || fail 'fetch the release: install curl'
    target=$(find_target)
    made=$(mktemp -d)
    trap 'rm -rf -- "$made" "${new:-$made}"' EXIT
    trap 'exit 130' INT TERM

    fetch "$base/SHA256SUMS" "$made/SHA256SUMS"
    # Names have no `/`, so nothing is written outside of the folder.
    line=$(grep -E "^[0-9a-f]{64} [ *]proofmark-[0-9A-Za-z.-]+-$target\.tar\.gz\$" "$made/SHA256SUMS") || line=
    test "$(printf '%s\n' "$line" | wc -w)" = 2 || fail "find one archive for $target in \`$base/SHA256SUMS\`"
    archive=${line#* [ *]}
    fetch "$base/$archive" "$made/$archive"
    printf '%s\n' "$line" >"$made/expected"
    (cd "$made" && sha256sum -c expected >/dev/null 2>&1) \
        || fail "install \`$archive\`: it is not the file that SHA256SUMS names; nothing was installed"

    tar -xzf "$made/$archive" -C "$made" "${archive%.tar.gz}/proofmark" || fail "read \`$archive\`"
    mkdir -p -- "$bin"
    # In the same folder, so that the program is replaced atomically.
    new=$(mktemp "$bin/.proofmark.XXXXXX")
    cp -- "$made/${archive%.tar.gz}/proofmark" "$new"
    chmod 755 "$new"
    said=$("$new" --version) || fail "start the program of \`$archive\`: it does not run on this machine; nothing was installed"
    mv -f -- "$new" "$bin/proofmark"
    echo "installed $said in $bin"
    case :${PATH:-}: in *:"$bin":*) ;; *) echo "add it to your path: export PATH=\"$bin:\$PATH\"" ;; esac
    "$bin/proofmark" doctor || echo "proofmark is installed, and \`proofmark doctor\` says above what this machine lacks" >&2
}

find_target() {
    test "$(uname -s)" = Linux || fail "install proofmark: it runs on Linux, and this is $(uname -s)"
    case $(uname -m) in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "install proofmark: there is no archive for the processor $(uname -m)" ;;
    esac
    getconf GNU_LIBC_VERSION >/dev/null 2>&1 || fail 'install proofmark: it needs glibc, which this Linux does not have'
    echo "$machine-unknown-linux-gnu"
}

fetch() { # URL FILE
    curl --fail --silent --show-error --location --proto-redir =https --retry 2 --max-filesize "$MAX_BYTES" --max-time "$MAX_SECONDS" \
        --output "$2" -- "$1" || fail "fetch \`$1\`"
}

# The whole script is read before anything is done, so a script that was cut off does nothing.
main
