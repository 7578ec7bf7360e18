#!/usr/bin/env bash
# Installs missing Debian packages, and prints how to get Swift if it is missing. Does nothing, and needs no
# privileges, on a machine that has everything.
set -euo pipefail

packages=(
  libfuse3-dev fuse3     # mounts
  libssl-dev             # encrypted realms, connections to sync servers
  zlib1g-dev             # messages of sync servers
  libintelrdfpmath-dev   # Decimal128
  libsqlite3-dev         # exports into SQLite databases
  libxlsxwriter-dev      # exports into spreadsheets
  libpq-dev              # replicas in PostgreSQL
  libmicrohttpd-dev      # realmfs browse
  pkg-config binutils
  jq python3 openssl attr acl e2fsprogs xfsprogs btrfs-progs rsync strace procps util-linux # tests
  curl chromium chromium-driver # tests of the page
  zsh fish # completions run in the shells that have them
  vim nano tmux emacs-nox ed moreutils patch git perl # programs that save files in different ways
  bindfs                 # the peer of benchmarks
  gocryptfs fuse-overlayfs ntfs-3g # file systems for realms
  postgresql             # tests of replicas, on separate servers
  dpkg-dev lintian groff sqlite3 # the package, its manual pages, recipes
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "setup: this machine has no apt-get; install the counterparts of: ${missing[*]}" >&2
    exit 1
  fi
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "setup: run as root: apt-get install ${missing[*]}" >&2
      exit 1
    }
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  log=$(mktemp)
  install_missing() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
  }
  # A package list that is outdated or missing is the usual reason for a failure.
  if ! install_missing >"$log" 2>&1 &&
    ! { "${as_root[@]}" apt-get update && install_missing; } >"$log" 2>&1; then
    tail -20 "$log" >&2
    exit 1
  fi
  rm -f "$log"
fi

if ! command -v swift >/dev/null; then
  cat >&2 <<'TEXT'
setup: Swift is missing. realmfs needs version 6.2 or later; https://www.swift.org/install/linux/ has it, for example

    curl -O https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz
    tar zxf swiftly-$(uname -m).tar.gz && ./swiftly init

Run the same make command again when `swift --version` works.
TEXT
  exit 1
fi
