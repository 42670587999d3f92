#!/bin/sh
# Writes the npm package that has the program for its processor, on which the package `proofmark` depends.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
begin "$@"
case $machine in
x86_64) processor=x64 ;;
aarch64) processor=arm64 ;;
*) fail "pack \`$1\`: npm has no package for \`$machine\`" ;;
esac
node "$root/clients/npm/platform.mjs" "$program" "$processor" "$version" "$made/package"
cd "$made/package"
npm pack --silent --pack-destination "$folder" >/dev/null
echo "$folder/proofmark-cli-linux-$processor-$version.tgz"
