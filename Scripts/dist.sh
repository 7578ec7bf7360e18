#!/usr/bin/env bash
# Builds the release files for this architecture in .build/dist: the Debian package, a tarball to extract below
# /usr/local, and their checksums. REALMFS is the program (a release build). The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

program=${REALMFS:-$PWD/.build/release/realmfs}
version=$("$program" version | awk 'NR == 1 {print $2}')
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

out=${DIST_OUT:-.build/dist}
rm -rf "$out" && mkdir -p "$out"
DEB_OUT=$out Scripts/deb.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=realmfs-$version-linux-$architecture
make --no-print-directory install PROGRAM="$program" DESTDIR="$work/$name" PREFIX= MANDIR=/share/man \
  DOCDIR=/share/doc/realmfs ZSHDIR=/share/zsh/site-functions HELPERDIR=/sbin >"$work/install.log" || {
  cat "$work/install.log" >&2
  exit 1
}
for helper in mount.fuse.realmfs umount.fuse.realmfs; do ln -sfn ../bin/realmfs "$work/$name/sbin/$helper"; done
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$work" -cf - "$name" |
  xz -6 >"$out/$name.tar.xz"
echo "$out/$name.tar.xz"
(cd "$out" && sha256sum -- *.deb *.tar.xz >SHA256SUMS)
echo "$out/SHA256SUMS"
