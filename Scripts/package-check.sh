#!/usr/bin/env bash
# Tests the package in a fresh Debian: installs it with its dependencies, mounts via fstab, and removes it.
# DEBIAN_SUITE (bookworm) is downloaded by debootstrap, which takes minutes; needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${DEBIAN_SUITE:-bookworm}
command -v debootstrap >/dev/null || {
  echo "package-check: install debootstrap first" >&2
  exit 1
}

root=$(mktemp -d)
# An ordinary user mounts there, too.
chmod 755 "$root"
trap 'umount -lR "$root" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
# debootstrap installs the package's dependencies, so the test installs only the package.
include=fuse3,libfuse3-3,libsqlite3-0,libxlsxwriter4,libmicrohttpd12,libpq5,libssl3,libstdc++6,mount,jq,man-db
echo "package-check: a fresh $suite in $root"
debootstrap --variant=minbase --include="$include" "$suite" "$root" >"$root.log" 2>&1 || {
  tail -20 "$root.log" >&2
  exit 1
}
rm -f "$root.log"
PACKAGE_ROOT=$root Tests/e2e/run.sh package
