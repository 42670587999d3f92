#!/usr/bin/env bash
# install.sh FOLDER: puts the binary of $VERSION, from the releases of $REPOSITORY, into the folder. The script of the releases
# fetches the archive, and compares its SHA-256.
. "${BASH_SOURCE[0]%/*}/runner.sh"

script=${BASH_SOURCE[0]%/*}/../packaging/install.sh
[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || refuse "the input \`version\` is \`$VERSION\`, and not of the form \`1.2.3\`"
[[ $REPOSITORY =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] || refuse "the input \`repository\` is \`$REPOSITORY\`, and not \`owner/name\`"
[ -f "$script" ] || refuse 'the folder `packaging` is missing beside the action: set `binary`'
mkdir -p -- "$1"
sh "$script" --version "$VERSION" --to "$1" --repository "$REPOSITORY"
