#!/usr/bin/env bash
# install.sh FOLDER: puts the binary of $VERSION, from the releases of $REPOSITORY, into the folder. The script of the releases
# fetches the archive, and compares its SHA-256.
. "${BASH_SOURCE[0]%/*}/runner.sh"

script=${BASH_SOURCE[0]%/*}/../packaging/install.sh
[ -f "$script" ] || refuse 'the folder `packaging` is missing beside the action: set `binary`'
PROOFMARK_BASE_URL=$GITHUB_SERVER_URL/$REPOSITORY/releases/download/v$VERSION PROOFMARK_BIN_DIR=$1 sh "$script" || exit 2
