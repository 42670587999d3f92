#!/bin/sh
# Prints the version of the workspace, from which every package has its own.
set -eu
manifest=$(dirname "$0")/../Cargo.toml
version=$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' "$manifest")
test -n "$version" || { echo "error: failed to find the version of the workspace in \`$manifest\`" >&2; exit 2; }
echo "$version"
