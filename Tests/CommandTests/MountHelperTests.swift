// The arguments of mount(8), umount(8) and fstab, and their translation.

import Testing

@testable import realmfs

@Suite("Mount helpers")
struct MountHelperTests {
  private func call(_ helper: MountHelper, _ words: String...) throws -> Arguments {
    try Arguments(helper == .mount ? .mount : .umount, HelperCall(helper, words[...]).words)
  }

  @Test("the program acts as a mount helper only because of its name")
  func names() {
    #expect(MountHelper(program: "/sbin/mount.fuse.realmfs") == .mount)
    #expect(MountHelper(program: "umount.fuse.realmfs") == .umount)
    #expect(MountHelper(program: "/usr/bin/realmfs") == nil)
    #expect(MountHelper(program: "/mount.fuse.realmfs/realmfs") == nil)
  }

  @Test("a line of fstab as passed by mount(8)")
  func fstab() throws {
    let arguments = try call(
      .mount,
      "/srv/a b.realm",
      "/srv/a",
      "-n",
      "-v",
      "-o",
      "rw,noexec,uid=7,class=A:B,key-file=/k,json_style=ejson,immutable"
    )
    #expect(arguments.operands == ["/srv/a b.realm", "/srv/a"])
    #expect(arguments.kernelOptions() == ["rw", "noexec"])
    #expect(arguments.mountOption(.uid) == "7")
    #expect(arguments.shownClasses() == ["A", "B"])
    #expect(arguments.value(.keyFile) == "/k")
    #expect(arguments.value(.jsonStyle) == "ejson")
    #expect(arguments.has(.immutable) && arguments.has(.verbose))
  }

  @Test("options for mount(8) and systemd are ignored")
  func foreign() throws {
    let arguments = try call(
      .mount,
      "f",
      "d",
      "-o",
      "defaults,noauto,nofail,_netdev,user=ann,users,relatime",
      "-o",
      "x-systemd.automount,x-systemd.idle-timeout=5,X-mount.mkdir=755"
    )
    #expect(arguments.mountOptions.isEmpty)
  }

  @Test("no option of realmfs has the name of one that mount(8) handles")
  func disjoint() {
    for name in MountHelper.foreignOptions {
      #expect(!Options.mountOptions.contains { $0.name == name })
      #expect(!MountHelper.longOptions.contains { $0.rawValue == name })
    }
  }

  @Test("commas in quotation marks or after a backslash are part of a value")
  func commas() throws {
    let arguments = try call(.mount, "f", "d", "-o", #"fsname="a,b",ro,compact_on_launch="total > 1MB""#)
    #expect(arguments.kernelOptions() == ["fsname=a,b"])
    #expect(arguments.mountOption(.readOnly) != nil)
    #expect(arguments.value(.compactOnLaunch) == "total > 1MB")
    #expect(try call(.mount, "f", "d", "-o", #"fsname=a\,b"#).kernelOptions() == ["fsname=a,b"])
  }

  @Test("an unknown option is refused, but ignored with -s")
  func sloppy() throws {
    #expect(throws: CommandFailure.self) { try call(.mount, "f", "d", "-o", "colour=red") }
    #expect(try call(.mount, "f", "d", "-s", "-o", "colour=red").mountOptions.isEmpty)
    #expect(throws: CommandFailure.self) { try call(.mount, "f", "d", "-o", "remount,ro") }
    #expect(throws: CommandFailure.self) { try call(.mount, "f", "d", "-x") }
    #expect(throws: CommandFailure.self) { try call(.mount, "f") }
  }

  @Test("mount -f does not mount, umount -f and -l detach")
  func force() throws {
    #expect(try HelperCall(.mount, ["f", "d", "-f"]).isFake)
    #expect(try call(.umount, "/d", "-n", "-r", "-v", "-t", "fuse.realmfs").operands == ["/d"])
    #expect(try call(.umount, "/d", "-f", "-l").has(.lazy))
    #expect(try !call(.umount, "/d").has(.lazy))
  }

  @Test("exit codes are those of mount(8)")
  func exitCodes() {
    #expect(MountHelper.status(of: .done) == 0)
    #expect(MountHelper.status(of: .usage) == 1)
    for code in ExitCode.allCases where code != .done && code != .usage {
      #expect(MountHelper.status(of: code) == 32)
    }
  }
}
