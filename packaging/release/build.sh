#!/bin/sh
# Builds the program of a release for this processor, and prints its path. Needs cargo-zigbuild and ziglang, which pip installs.
set -eu
# The oldest glibc that the program is to run with. Zig has the libraries of each, so the builder's own does not matter.
oldest=2.17
root=$(CDPATH='' cd -- "$(dirname "$0")/../.." && pwd)
target=$(uname -m)-unknown-linux-gnu
cargo zigbuild --locked --profile dist --manifest-path "$root/Cargo.toml" --package proofmark-cli --target "$target.$oldest" >&2
program=${CARGO_TARGET_DIR:-$root/target}/$target/dist/proofmark
needs=$(python3 "$root/packaging/elf.py" "$program")
test "$(printf '%s\n' "${needs#* }" "$oldest" | sort -V | tail -n 1)" = "$oldest" || {
    echo "error: failed to build for glibc $oldest: \`$program\` needs ${needs#* }" >&2
    exit 2
}
echo "$program"
