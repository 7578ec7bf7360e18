// Owner, mode, links, times, statfs and extended attributes.

import Foundation
import RealmJSON
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Attributes")
struct AttributeTests {
  @Test(
    "mode and owner derive from the realm file: only read bits, and x where there is r for directories",
    arguments: [(0o644, 0o444, 0o555), (0o600, 0o400, 0o500), (0o777, 0o444, 0o555), (0o040, 0o040, 0o050)]
  )
  func modeFollowsFromTheFile(_ mode: Int, _ file: Int, _ directory: Int) throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree()
    #expect(chmod(scratch.file.path, mode_t(mode)) == 0)
    let later = try scratch.tree()
    #expect(try later.find("Person").permissions == UInt32(directory))
    #expect(try later.find("Person/4.json").permissions == UInt32(file))
    #expect(try later.attributes(.root).permissions == UInt32(directory))
    #expect(try tree.find("Person").owner == getuid())
    #expect(
      try tree.find("Person/4.json").group == FileManager.default.attributesOfItem(
        atPath: scratch.file.path
      )[.groupOwnerAccountID] as? UInt32
    )
  }

  @Test("uid, gid and the masks override them")
  func masksOverride() throws {
    var options = TreeOptions()
    options.uid = 12
    options.gid = 34
    options.umask = 0o027
    #expect(try FileTree.of("people", options).find("Person/4.json").permissions == 0o440)
    #expect(try FileTree.of("people", options).find("Person").permissions == 0o550)
    options.fmask = 0o007
    options.dmask = 0o077
    let tree = try FileTree.of("people", options)
    let file = try tree.find("Person/4.json"), directory = try tree.find("Person")
    #expect(file.permissions == 0o440 && directory.permissions == 0o500)
    #expect(file.owner == 12 && directory.group == 34)
  }

  @Test("a file has one link, a directory two and one for each directory in it")
  func links() throws {
    let tree = try FileTree.of("people")
    #expect(try tree.find("Person/4.json").links == 1)
    #expect(try tree.find("Person").links == 2)
    #expect(try tree.attributes(.root).links == 5, "Person, Dog and .realm")
    #expect(try tree.find(".realm").links == 5, "schema, tables and deleted")
  }

  @Test("at first every time is that of the realm file")
  func firstTimesAreTheFiles() throws {
    let scratch = try ScratchRealm("people")
    let time = timespec(tv_sec: 1_600_000_000, tv_nsec: 123_456_789)
    #expect(utimensat(AT_FDCWD, scratch.file.path, [time, time], 0) == 0)
    let tree = try scratch.tree()
    for path in ["", "Person", "Person/4.json", ".realm/version", ".realm/schema/Dog.json"] {
      let attributes = try tree.find(path)
      #expect(attributes.modifiedSeconds == 1_600_000_000 && attributes.modifiedNanoseconds == 123_456_789, "\(path)")
    }
  }

  @Test("statfs reports the realm file as used space, and the free space of its file system")
  func statfsCountsTheFile() throws {
    let tree = try FileTree.of("strings")
    let status = try tree.fileSystemStatus()
    let size = try Fixture.named("strings").bytes().count
    #expect(Int(status.blocks - status.freeBlocks) * Int(status.blockSize) >= size)
    #expect(Int(status.blocks - status.freeBlocks - 1) * Int(status.blockSize) < size)
    #expect(status.files - status.freeFiles == 3500)
    #expect(status.longestName == 255)
  }

  @Test("extended attributes contain class, object key and version")
  func extendedAttributes() throws {
    let tree = try FileTree.of("people")
    let object = try tree.find("Person/4.json").inode
    #expect(try tree.extendedAttribute(object, "user.realm.class") == "Person")
    #expect(try tree.extendedAttribute(object, "user.realm.key") == "1")
    #expect(try tree.extendedAttribute(object, "user.realm.version") == "5")
    let directory = try tree.find("Dog").inode
    #expect(try tree.extendedAttribute(directory, "user.realm.class") == "Dog")
    #expect(try tree.extendedAttribute(directory, "user.realm.version") == "5")
    #expect(failure { try tree.extendedAttribute(directory, "user.realm.key") }?.kind == "noSuchAttribute")
    #expect(try tree.extendedAttribute(.root, "user.realm.version") == "5")
    #expect(try tree.extendedAttribute(.root, FileTree.processAttribute) == "\(getpid())")
  }

  @Test("a mount reports its state without reading the realm, and an invalid report is rejected")
  func reportOfAMount() throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree()
    let text = Array(try tree.extendedAttribute(.root, MountReport.attribute).utf8)
    let report = try #require(MountReport(text))
    #expect(report.process == getpid() && report.file == scratch.file.path && report.snapshots == 0)
    #expect(report.mode == .readOnly && report.idleSeconds.map { $0 < 60 } == true)
    for mode in [MountReport.Mode.readOnly, .readWrite] {
      let other = MountReport(process: 7, file: "/a\n\"ä\u{1B}", mode: mode, idleSeconds: 70, snapshots: 3)
      #expect(MountReport(Array(JSONValue.object(other.facts).line.utf8)) == other)
    }
    for end in 0..<text.count - 2 { #expect(MountReport(Array(text.prefix(end))) == nil) }
    for other in ["[]", "{\"pid\": 0}", "{\"pid\": 1e99, \"file\": \"x\", \"mode\": \"immutable\", \"snapshots\": 0}"] {
      #expect(MountReport(Array(other.utf8)) == nil)
    }
    let object = try tree.find("Person/4.json").inode
    #expect(failure { try tree.extendedAttribute(object, MountReport.attribute) }?.kind == "unsupportedAttribute")
  }

  @Test("the report of a mount is readable by root, the user who mounted, and users who can enter")
  func reportIsPrivate() throws {
    let scratch = try ScratchRealm("people")
    let other = Caller(user: getuid() + 1, group: getgid() + 1)
    func isReadable(by caller: Caller, _ change: (inout TreeOptions) -> Void = { _ in }) throws -> Bool {
      var options = TreeOptions()
      change(&options)
      let tree = try scratch.tree(options)
      do throws(FileTreeError) {
        _ = try tree.extendedAttribute(.root, MountReport.attribute, by: caller)
        return true
      } catch {
        #expect(error.kind == "refused noAccess")
        return false
      }
    }
    #expect(try isReadable(by: Caller(user: 0, group: 0)))
    #expect(try isReadable(by: Caller(user: getuid(), group: getgid())))
    #expect(try !isReadable(by: other) { $0.umask = 0 })
    #expect(try isReadable(by: other) { ($0.umask, $0.admitsOtherUsers) = (0, true) })
    #expect(try !isReadable(by: other) { ($0.umask, $0.admitsOtherUsers) = (0o077, true) })
  }

  @Test("an unknown attribute of namespace user does not exist, and other namespaces are not supported")
  func otherExtendedAttributes() throws {
    let tree = try FileTree.of("people")
    let object = try tree.find("Person/4.json").inode
    #expect(failure { try tree.extendedAttribute(object, "user.mime_type") }?.kind == "noSuchAttribute")
    for name in ["security.selinux", "system.posix_acl_access", "trusted.x"] {
      #expect(failure { try tree.extendedAttribute(object, name) }?.kind == "unsupportedAttribute")
    }
  }
}
