#!/bin/sh
# Writes the Debian package. DEBFULLNAME and DEBEMAIL name its maintainer, as for Debian's own tools.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"
: "${DEBFULLNAME:?say who makes the package in DEBFULLNAME and DEBEMAIL}" "${DEBEMAIL:?say who makes the package in DEBFULLNAME and DEBEMAIL}"
begin "$@"
write_pages

case $machine in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) fail "name the architecture of \`$machine\` as Debian does" ;;
esac
debian=$root/packaging/debian
tree=$made/tree
share=$tree/usr/share
documents=$share/doc/proofmark
# `~` sorts before everything: 1.2.0~rc.1 is older than 1.2.0.
debian_version=$(echo "$version" | tr - '~')-1

put() { # MODE FILE DESTINATION
    install -D -m "$1" "$2" "$3"
}
put 755 "$program" "$tree/usr/bin/proofmark"
for page in "$made"/man/*.1; do
    gzip -n -9 "$page"
    put 644 "$page.gz" "$share/man/man1/$(basename "$page").gz"
done
put 644 "$made/completions/proofmark.bash" "$share/bash-completion/completions/proofmark"
put 644 "$made/completions/_proofmark" "$share/zsh/vendor-completions/_proofmark"
put 644 "$made/completions/proofmark.fish" "$share/fish/vendor_completions.d/proofmark.fish"
put 644 "$root/packaging/proofmark.service" "$tree/lib/systemd/system/proofmark.service"
put 644 "$debian/proofmark.sysusers" "$tree/usr/lib/sysusers.d/proofmark.conf"
put 644 "$root/examples/hooks/agent.yaml" "$documents/examples/policy.yaml"
put 644 "$debian/README.Debian" "$documents/README.Debian"
put 644 "$debian/copyright" "$documents/copyright"
gzip -n -9 <"$root/CHANGELOG.md" >"$documents/changelog.gz"
{
    printf 'proofmark (%s) unstable; urgency=medium\n\n  * See changelog.gz.\n\n' "$debian_version"
    printf ' -- %s <%s>  %s\n' "$DEBFULLNAME" "$DEBEMAIL" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -n -9 >"$documents/changelog.Debian.gz"

mkdir "$tree/DEBIAN"
size=$(du -k -s --apparent-size "$tree" | cut -f 1)
sed -e "s/@VERSION@/$debian_version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@GLIBC@/${needs#* }/" -e "s/@SIZE@/$size/" \
    -e "s/@MAINTAINER@/$(echo "$DEBFULLNAME <$DEBEMAIL>" | sed 's/[&/\]/\\&/g')/" "$debian/control" >"$tree/DEBIAN/control"
for script in postinst prerm postrm; do
    put 755 "$debian/$script" "$tree/DEBIAN/$script"
done
(cd "$tree" && find lib usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
find "$tree" -type d -exec chmod 755 {} +
package=$folder/proofmark_${debian_version}_$architecture.deb
dpkg-deb --root-owner-group -Z"$PACK_DEB" -z"$PACK_LEVEL" --build "$tree" "$package" >/dev/null
echo "$package"
