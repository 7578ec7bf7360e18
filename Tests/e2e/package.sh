#!/usr/bin/env bash
# The Debian package: its content, installation, mounts by fstab, and complete removal. Runs in an overlay of this
# system's root in a separate mount namespace, or in PACKAGE_ROOT.
if [ -z "${PACKAGE_NAMESPACE:-}" ]; then
  if [ "$(id -u)" -ne 0 ] || ! unshare --mount true 2>/dev/null; then
    echo "skip - a mount namespace needs root"
    exit
  fi
  exec env PACKAGE_NAMESPACE=1 unshare --mount --propagation slave bash "$0" "$@"
fi
source "$(dirname "$0")/lib.sh"
command -v dpkg-shlibdeps >/dev/null || {
  skip "dpkg-dev is absent"
  exit
}

export SOURCE_DATE_EPOCH=1700000000
deb=$(REALMFS=$realmfs DEB_OUT=$scratch "$repository/Scripts/deb.sh" 2>&1) || {
  not_ok "make deb: $deb"
  exit
}
ok "make deb"
mkdir "$scratch/again"
REALMFS=$realmfs DEB_OUT=$scratch/again "$repository/Scripts/deb.sh" >/dev/null
check "the same sources give the same package" cmp "$deb" "$scratch/again/$(basename "$deb")"
check "make dist" env REALMFS="$realmfs" DIST_OUT="$scratch/dist" "$repository/Scripts/dist.sh"
check "the checksums fit" bash -c 'cd "$1" && sha256sum --check --strict SHA256SUMS' - "$scratch/dist"
equal "of the package and the tarball" "2" "$(wc -l <"$scratch/dist/SHA256SUMS")"
check "the package is the same" cmp "$deb" "$scratch/dist/$(basename "$deb")"
mkdir "$scratch/unpacked"
tar -C "$scratch/unpacked" --strip-components=1 -xf "$scratch"/dist/realmfs-*.tar.xz
equal "the program in the tarball runs" "$("$realmfs" version)" "$("$scratch/unpacked/bin/realmfs" version)"
check "and so does the helper of mount(8)" test -x "$scratch/unpacked/sbin/mount.fuse.realmfs"
check "and its manual is there" test -s "$scratch/unpacked/share/man/man1/realmfs.1"
if ldd "$realmfs" | grep -q libswiftCore; then
  skip "lintian: this is not a build for release"
elif command -v lintian >/dev/null; then
  equal "lintian has nothing to say" "" \
    "$(lintian --allow-root --profile debian --fail-on none "$deb" 2>&1 | grep -vE '^N:|^running with root')"
else
  skip "lintian is absent"
fi
pages=("$repository"/man/*.[158])
check "man pages are well-formed" bash -c '[ -z "$(groff -man -Tutf8 -ww -z "$@" 2>&1)" ]' - "${pages[@]}"

# ---- make install and uninstall ----

into=$scratch/into
check "make install" make -C "$repository" install PROGRAM="$realmfs" DESTDIR="$into"
check "the program runs from there" "$into/usr/local/bin/realmfs" version
equal "the helper leads to the program" "/usr/local/bin/realmfs" "$(readlink "$into/sbin/mount.fuse.realmfs")"
check "make uninstall" make -C "$repository" uninstall DESTDIR="$into"
equal "make uninstall leaves no file" "" "$(find "$into" ! -type d)"

# ---- a separate root ----

root=${PACKAGE_ROOT:-$scratch/root}
if [ -z "${PACKAGE_ROOT:-}" ]; then
  mkdir "$scratch/layers" "$root"
  if ! mount -t tmpfs none "$scratch/layers" || ! mkdir "$scratch/layers/upper" "$scratch/layers/work" ||
    ! mount -t overlay none "$root" \
      -o "lowerdir=/,upperdir=$scratch/layers/upper,workdir=$scratch/layers/work" 2>/dev/null; then
    skip "the kernel has no overlays"
    exit
  fi
fi
mount --rbind /dev "$root/dev"
mount -t proc none "$root/proc"
# fusermount3 needs this link, which a booted system has and an unpacked one lacks.
[ -e "$root/etc/mtab" ] || ln -s /proc/self/mounts "$root/etc/mtab"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
# Caches, logs and dpkg's package lists do not belong to the package.
listing() {
  (cd "$root" && find etc usr/bin usr/sbin usr/share/{man,doc,bash-completion,zsh,fish} usr/lib/systemd 2>/dev/null | sort)
}
data=$root/srv/realmfs-test
mkdir -p "$data"/{people,secret,home,fstab}
cp "$fixtures/people.realm" "$fixtures/people-encrypted.realm" "$fixtures/encrypted.key.hex" "$data"
cp "$fixtures/people.realm" "$data/home/mine.realm"
mkdir "$data/home/mine"
chmod -R u+w "$data"
listing >"$scratch/before"

cp "$deb" "$root/tmp/realmfs.deb"
check "dpkg --install" inside dpkg --install /tmp/realmfs.deb
check "the program runs" inside realmfs version
if inside test -x /usr/bin/man; then
  check "its pages are found" inside man --where realmfs realmfs-mount realm mount.fuse.realmfs umount.fuse.realmfs
fi
for file in bash-completion/completions/realmfs zsh/vendor-completions/_realmfs fish/vendor_completions.d/realmfs.fish; do
  check "completions: $file" test -s "$root/usr/share/$file"
done

# ---- fstab ----

cat >"$data/fstab/fstab" <<'FSTAB'
/srv/realmfs-test/people.realm /srv/realmfs-test/people fuse.realmfs noauto,x-systemd.automount,nofail,allow_other,uid=7 0 0
/srv/realmfs-test/people-encrypted.realm /srv/realmfs-test/secret fuse.realmfs defaults,ro,_netdev,key_file=/srv/realmfs-test/encrypted.key.hex 0 0
/srv/realmfs-test/home/mine.realm /srv/realmfs-test/home/mine fuse.realmfs noauto,user 0 0
FSTAB
cp "$root/etc/fstab" "$scratch/fstab.before" 2>/dev/null || touch "$scratch/fstab.before"
cp "$data/fstab/fstab" "$root/etc/fstab"

mount_type() { inside findmnt -no FSTYPE "/srv/realmfs-test/$1"; }
check "mount DIR finds its line in fstab" inside mount /srv/realmfs-test/people
equal "it is a mount of realmfs" "fuse.realmfs" "$(mount_type people)"
equal "its options are obeyed" "7" "$(stat -c %u "$data/people/Person/4.json")"
check "an object is changed" bash -c 'echo "{\"age\": 77}" >"$1"' - "$data/people/Person/4.json"
check "mount -a takes the lines that are for it" inside mount -a
equal "the encrypted realm is there, with the key of the line" "fuse.realmfs" "$(mount_type secret)"
check_status "it is read-only" 1 'Read-only' touch "$data/secret/x"
check "mount -a again does nothing" inside mount -a
equal "there are two mounts" "2" "$(inside grep -c ' /srv/realmfs-test/.* fuse.realmfs ' /proc/self/mounts)"
check "umount" inside umount /srv/realmfs-test/people
check "umount -a by type" inside umount -a -t fuse.realmfs
equal "nothing is mounted" "0" "$(inside grep -c ' /srv/realmfs-test/.* fuse.realmfs ' /proc/self/mounts)"

# As after a reboot: only the files of the former mounts remain.
rm -rf "$data"/*.lock "$data"/*.note "$data"/*.management
check "mount again" inside mount /srv/realmfs-test/people
equal "what was saved is there" "77" "$(inside cat /srv/realmfs-test/people/Person/4.json | jq .age)"
(cd "$data/people" && exec sleep 60) &
background+=($!)
wait_until 5 grep -q sleep "/proc/$!/comm"
check_status "umount of a busy mount" 32 'busy' inside umount /srv/realmfs-test/people
{ kill $! && wait $!; } 2>/dev/null
check "umount" inside umount /srv/realmfs-test/people

check "mount -t fuse.realmfs" inside mount -t fuse.realmfs -o ro,noexec /srv/realmfs-test/people.realm /srv/realmfs-test/people
equal "its options are there" "fuse.realmfs ro,nosuid,nodev,noexec" \
  "$(awk '$2 ~ /people$/ {print $3, $4}' "$root/proc/self/mounts" | grep -oE '^fuse.realmfs ro,nosuid,nodev,noexec')"
check_status "remounting is refused" 1 'unmount it and mount it again' inside mount -o remount,rw /srv/realmfs-test/people
check "umount" inside umount /srv/realmfs-test/people
check_status "an unknown option is a wrong invocation" 1 'unknown mount option -o colour' \
  inside mount -t fuse.realmfs -o colour=red /srv/realmfs-test/people.realm /srv/realmfs-test/people
check_status "a missing file is a mount failure" 32 'No such file' \
  inside mount -t fuse.realmfs /srv/realmfs-test/absent.realm /srv/realmfs-test/people
check_status "an encrypted file without its key" 32 'key' \
  inside mount -t fuse.realmfs /srv/realmfs-test/people-encrypted.realm /srv/realmfs-test/people
check "mount -f pretends" inside mount -f -t fuse.realmfs /srv/realmfs-test/people.realm /srv/realmfs-test/people
check "nothing is mounted" is_not_mounted "$data/people"

# An ordinary user, by the option `user` of the line.
user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
chown -R 65534:65534 "$data/home"
chmod 755 "$scratch"
if inside "${user[@]}" test -w /dev/fuse && [ -u "$root/usr/bin/fusermount3" ]; then
  check "a user mounts" inside "${user[@]}" mount /srv/realmfs-test/home/mine
  equal "and reads" "19" "$(inside "${user[@]}" ls /srv/realmfs-test/home/mine/Person | wc -l)"
  check "and unmounts" inside "${user[@]}" umount /srv/realmfs-test/home/mine
  check "it is gone" is_not_mounted "$data/home/mine"
  if ! grep -qx user_allow_other "$root/etc/fuse.conf"; then
    check_status "allow_other tells of /etc/fuse.conf" 10 "user_allow_other" \
      inside "${user[@]}" realmfs mount -o allow_other /srv/realmfs-test/home/mine.realm /srv/realmfs-test/home/mine
  fi
else
  skip "ordinary users may not mount on this machine"
fi

# ---- systemd ----

generator=/usr/lib/systemd/system-generators/systemd-fstab-generator
if [ -x "$generator" ]; then
  units=$(new_directory units)
  SYSTEMD_FSTAB=$data/fstab/fstab "$generator" "$units" "$units" "$units" 2>/dev/null
  unit=srv-realmfs\\x2dtest-people
  check "systemd makes an automount of the line" grep -q '^Where=/srv/realmfs-test/people' "$units/$unit.automount"
  check "and the mount, with our type" grep -q '^Type=fuse.realmfs' "$units/$unit.mount"
else
  skip "systemd is absent"
fi
if command -v systemd-analyze >/dev/null && [ -z "${PACKAGE_ROOT:-}" ]; then
  equal "systemd finds no fault with the user's unit" "" \
    "$(inside env XDG_RUNTIME_DIR=/tmp systemd-analyze --user verify /usr/lib/systemd/user/realmfs@.service 2>&1 |
      grep -i realmfs)"
fi

# ---- removal ----

cp "$scratch/fstab.before" "$root/etc/fstab"
check "dpkg --purge" inside dpkg --purge realmfs
rm -f "$data"/*.lock "$data"/home/*.lock "$data"/*.note "$data"/home/*.note
rmdir "$data"/*.management "$data"/home/*.management 2>/dev/null
listing >"$scratch/after"
[ -s "$scratch/fstab.before" ] || sed -i '/^etc\/fstab$/d' "$scratch/before" "$scratch/after"
equal "nothing of the package is left" "" "$(diff "$scratch/before" "$scratch/after")"
check "and the type is unknown again" \
  bash -c '! "$@" 2>/dev/null' - chroot "$root" mount -t fuse.realmfs /srv/realmfs-test/people.realm /srv/realmfs-test/people
rm -rf "$data" "$root/tmp/realmfs.deb"
umount -l "$root/proc" "$root/dev"
