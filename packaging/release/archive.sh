#!/bin/sh
# Writes the archive that people and `install.sh` download: the program, its man pages, completions and licences.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
begin "$@"
write_pages

name=proofmark-$version-$machine-unknown-linux-gnu
mkdir -p "$made/$name/man"
mv "$made/man" "$made/$name/man/man1"
mv "$made/completions" "$made/$name/"
install -m 755 "$program" "$made/$name/proofmark"
install -m 644 "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$root/CHANGELOG.md" "$made/$name/"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$made" -cf "$made/archive" "$name"
gzip -n -"$PACK_LEVEL" <"$made/archive" >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
