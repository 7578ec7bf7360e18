#!/usr/bin/env bash
# Builds the Debian package with dpkg's own tools only. REALMFS is the program (a release build), DEB_OUT the output
# directory (.build), DEBFULLNAME and DEBEMAIL the packager. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

program=${REALMFS:-$PWD/.build/release/realmfs}
maintainer="${DEBFULLNAME:-The realmfs authors} <${DEBEMAIL:-realmfs@example.org}>"
version=$("$program" version | awk 'NR == 1 {print $2}')
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
doc=$root/usr/share/doc/realmfs
make --no-print-directory install PROGRAM="$program" DESTDIR="$root" PREFIX=/usr HELPERDIR=/usr/sbin \
  ZSHDIR=/usr/share/zsh/vendor-completions >"$work/install.log"

# Further requirements of Debian: compressed texts, the licence by reference, links that stay within /usr.
rm "$doc/LICENSE"
install -m 644 Packaging/copyright "$doc/copyright"
cat >"$doc/changelog" <<TEXT
realmfs ($version) unstable; urgency=medium

  * What is new is in CHANGELOG.md.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
TEXT
gzip -9n "$doc/changelog" "$root"/usr/share/man/man?/realm*.?
for name in mount.fuse.realmfs umount.fuse.realmfs; do
  ln -sfn ../bin/realmfs "$root/usr/sbin/$name"
  rm "$root/usr/share/man/man8/$name.8"
  ln -s realmfs-mount.8.gz "$root/usr/share/man/man8/$name.8.gz"
done

# dpkg-shlibdeps must be run in a source package.
mkdir "$work/debian"
printf 'Source: realmfs\n\nPackage: realmfs\nArchitecture: any\n' >"$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O "$root/usr/bin/realmfs" 2>"$work/shlibdeps.log" | sed 's/^shlibs:Depends=//')
[ -n "$libraries" ] || {
  cat "$work/shlibdeps.log" >&2
  exit 1
}

# Libraries that are loaded on demand: for replicas, browsers and spreadsheets.
spreadsheets=libxlsxwriter$(sed -n 's/^#define LXW_SOVERSION "\(.*\)"$/\1/p' /usr/include/xlsxwriter.h)

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<TEXT
Package: realmfs
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: fuse3, $libraries
Recommends: libmicrohttpd12 | libmicrohttpd12t64, libpq5, $spreadsheets
Suggests: jq, sqlite3
Section: utils
Priority: optional
Description: mount Realm database files as directory trees
 A Realm file, the database of many mobile apps, becomes a directory: object
 types are directories, objects are JSON files, and every tool that works on
 files works on the data. Saving a file is a transaction.
 .
 Commands that need no mount query, export, import, compare, check, back up,
 encrypt, upgrade and recover such files. No Realm SDK is needed.
TEXT
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -print0 | xargs -0 -r touch --no-dereference --date="@$SOURCE_DATE_EPOCH"

package=${DEB_OUT:-.build}/realmfs_${version}_$architecture.deb
dpkg-deb --root-owner-group --uniform-compression -Zxz --build "$root" "$package" >/dev/null
echo "$package"
