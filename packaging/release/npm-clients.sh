#!/bin/sh
# Writes the npm packages `@proofmark/verify` and `proofmark`, which are the same for every processor, into FOLDER.
# PROOFMARK_NODE_MODULES names a folder with `typescript` and `@types/node` [default: npm fetches them].
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
begin_clients "$@"
tar -C "$root/clients" --exclude=node_modules --exclude=types -cf - js npm | tar -C "$made" -xf -
modules=${PROOFMARK_NODE_MODULES:-$made/node_modules}
test -n "${PROOFMARK_NODE_MODULES:-}" ||
    npm install --silent --ignore-scripts --no-audit --no-fund --no-package-lock --prefix "$made" typescript@7.0.2 @types/node@26.6.6
test -e "$modules/typescript/package.json" || fail "make the types: \`$modules\` has no \`typescript\`"
# What the types of `proofmark` are made with.
mkdir -p "$made/npm/node_modules/@proofmark" "$made/npm/node_modules/@types"
ln -s "$made/js" "$made/npm/node_modules/@proofmark/verify"
ln -s "$modules/@types/node" "$made/npm/node_modules/@types/node"
for package in js npm; do
    (cd "$made/$package" && PATH=$modules/.bin:$PATH npm pack --silent --pack-destination "$folder" >/dev/null)
done
printf '%s\n' "$folder/proofmark-verify-$version.tgz" "$folder/proofmark-$version.tgz"
