// The kernel's tables as realmfs reads them: /proc/locks and /proc/self/mountinfo.

import RealmPages
import Testing

@testable import realmfs

@Suite("Kernel tables")
struct KernelTableTests {
  @Test("holders of a lock are processes with a flock on its file, not waiters or holders of other locks")
  func locks() {
    let locks = """
      1: FLOCK  ADVISORY  READ  1234 fe:00:4711 0 EOF
      1: -> FLOCK  ADVISORY  WRITE 99 fe:00:4711 0 EOF
      2: FLOCK  ADVISORY  WRITE 1235 fe:00:4712 0 EOF
      3: POSIX  ADVISORY  READ  1236 fe:00:4711 128 128
      4: FLOCK  ADVISORY  READ  -1 fe:00:4711 0 EOF
      5: OFDLCK ADVISORY  READ  -1 00:06:1028 0 EOF
      6: FLOCK  ADVISORY  READ  1237 103:02:4711 0 EOF

      """
    #expect(LockHolders.processes(holding: ["fe:00:4711"], locks: locks) == [1234, -1])
    #expect(LockHolders.processes(holding: ["103:02:4711"], locks: locks) == [1237])
    #expect(LockHolders.processes(holding: [], locks: locks) == [])
    #expect(LockHolders.processes(holding: ["fe:00:4711"], locks: "") == [])
  }

  @Test("mount points, types and sources with escaped spaces and optional fields")
  func mounts() {
    let table = #"""
      36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw,errors=continue
      90 36 0:51 / /mnt/two\040words ro,nosuid - fuse.realmfs /data/a\134b.realm ro,user_id=0
      91 36 0:52 / /mnt/two\040words ro shared:7 master:1 - fuse.other other ro
      not a mount at all

      """#
    let entries = MountTable.parse(table)
    #expect(entries.count == 3)
    #expect(
      entries[1]
        == MountEntry(mountPoint: "/mnt/two words", type: "fuse.realmfs", source: #"/data/a\b.realm"#, device: "0:51")
    )
    #expect(entries[1].isOurs && !entries[0].isOurs && !entries[2].isOurs)
    #expect(entries[2].type == "fuse.other")
  }

  @Test("a path is below a directory only at component boundaries")
  func paths() {
    #expect(MountTable.isPath("/a/b/c", atOrBelow: "/a/b"))
    #expect(MountTable.isPath("/a/b", atOrBelow: "/a/b"))
    #expect(MountTable.isPath("/a", atOrBelow: "/"))
    #expect(!MountTable.isPath("/a/bc", atOrBelow: "/a/b"))
  }

  @Test("the real path of a mount point is resolved without accessing the mount")
  func realMountPoint() {
    #expect(System.realMountPoint("/tmp/") == "/tmp")
    #expect(System.realMountPoint("/") == "/")
    #expect(System.realMountPoint("/proc/self/../absent") == "/proc/absent")
  }
}
