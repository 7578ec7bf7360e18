#!/usr/bin/env bash
# Power cuts: states of single files, then programs that share a realm, then states of whole disks with ext4, XFS and btrfs,
# then file systems that are shut down under live writers. Disks and shutdowns need root, loop devices and FUSE.
# docs/RELIABILITY.md describes the checks.
#   CRASH_STATES (10000)   different files       CRASH_DISKS (40)        different disks of each file system
#   CRASH_SHUTDOWNS (3)    of each file system   CRASH_SEEDS (400)       simulations of 1000 steps
#   CRASH_PROCESSES (3)    simulations of 500 steps by programs that run freely
#   FIRST_SEED (1)         of the workloads         CRASH_BIN                the programs, if they are built already
set -euo pipefail
cd "$(dirname "$0")/.."

seed=${FIRST_SEED:-1}
bin=${CRASH_BIN:-$PWD/.build/release}
[ -n "${CRASH_BIN:-}" ] || for product in PowerCut Simulator CommitLoop realmfs; do
  # shellcheck disable=SC2086
  ${SWIFT:-swift} build -c release --static-swift-stdlib ${SWIFTFLAGS:-} --product $product >/dev/null
done
cut=$bin/PowerCut
export REALMFS=$bin/realmfs
# In memory, where syncs are fast.
[ ! -d /dev/shm ] || export TMPDIR=/dev/shm
[ "${1:-}" != --build ] || exit 0

"$cut" states "${CRASH_STATES:-10000}" "$seed"
if [ "${CRASH_SEEDS:-400}" != 0 ]; then
  "$bin/Simulator" run "$seed" "${CRASH_SEEDS:-400}" 1000
  # Seeds that once revealed a bug.
  for found in 5192 8492; do "$bin/Simulator" run $found 1 1000; done
fi
[ "${CRASH_PROCESSES:-3}" = 0 ] || "$bin/Simulator" processes "$seed" "${CRASH_PROCESSES:-3}" 500
if [ "$(id -u)" != 0 ] || [ ! -e /dev/loop-control ] || [ ! -e /dev/fuse ]; then
  echo "disk: skipped: needs root, loop devices and FUSE"
  exit
fi
for format in ext4 ext4-journal xfs btrfs; do
  # Each seed has its own workload.
  left=${CRASH_DISKS:-40} of=$seed
  while [ "$left" -gt 0 ]; do
    part=$((left < 2500 ? left : 2500))
    "$cut" disk $format $part $of
    left=$((left - part)) of=$((of + 1))
  done
done
[ "${CRASH_SHUTDOWNS:-3}" = 0 ] || for format in ext4 xfs; do
  "$cut" shutdown $format "${CRASH_SHUTDOWNS:-3}" "$seed"
done
