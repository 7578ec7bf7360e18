// A file system of two megabytes that is really full: commits fail with an error, and succeed once there is space.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Full disk", .serialized)
struct FullDiskTests {
  private static let isRoot = getuid() == 0

  @Test(
    "on a full disk a commit fails, and works again when there is space",
    .enabled(if: isRoot, "mounting needs root"),
    arguments: ["tmpfs", "ext4"],
    [false, true]
  )
  func fills(kind: String, isEncrypted: Bool) throws {
    guard let disk = try SmallDisk(kind) else {
      print("skipped: no \(kind) can be mounted here")
      return
    }
    defer { disk.unmount() }
    let path = disk.folder + "/a.realm", filler = disk.folder + "/filler"
    let configuration = Configuration(path: path, encryptionKey: isEncrypted ? try Fixture.key() : nil)
    let writer = try RealmWriter(configuration, create: true)
    try CommitShape.small.prepare(writer)
    // Less space is left than the growth of the file.
    let handle = try RealmPages.FileHandle(path: filler, forWriting: true, create: true)
    for _ in 0..<10_000 {
      guard let room = try? handle.status().size, (try? handle.allocate(room + 4096)) != nil else { break }  // full
    }
    for round in 0..<3 {
      let before = try Contents(writer.realm.latest())
      do throws(EngineError) {
        try grow(writer)
        Issue.record("round \(round): no error")
      } catch {
        #expect(error.reason == .file(ENOSPC), "\(error)")
      }
      #expect(try Contents(Realm(configuration).latest()) == before)
    }
    try FileManager.default.removeItem(atPath: filler)
    try handle.truncate(0)
    let version = try writer.realm.latest().version
    try grow(writer)
    #expect(try Realm(configuration).latest().version == version + 1)
    // And until it is full once more.
    var commits = 0, failure: EngineError?
    while failure == nil && commits < 1000 {
      do throws(EngineError) {
        try grow(writer)
        commits += 1
      } catch { failure = error }
    }
    #expect(failure?.reason == .file(ENOSPC), "\(commits) commits")
    let snapshot = try Realm(configuration).latest()
    #expect(snapshot.version == version + 1 + UInt64(commits))
    #expect(Verifier(snapshot).problems(limit: 3) == [])
  }

  /// Adds objects of about 100 kB.
  private func grow(_ writer: RealmWriter) throws(EngineError) {
    let transaction = try writer.begin()
    guard let items = try transaction.tableKey(named: "class_Item"),
      let column = try transaction.columns(of: items).first(where: { $0.name == "data" })
    else { throw EngineError(.notFound, "the class Item has no data") }
    for i in 0..<10 {
      let object = try transaction.create(items)
      try transaction.set(items, object, column.key, .data([UInt8](repeating: UInt8(i), count: 10_000)))
    }
    _ = try transaction.commit()
  }

  /// A mounted file system of two megabytes.
  private struct SmallDisk {
    let folder: String
    private let temporary: TemporaryFolder

    /// Nil if the system does not permit it.
    init?(_ kind: String) throws {
      temporary = try TemporaryFolder()
      folder = temporary.path("disk")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      if kind == "tmpfs" {
        guard Self.run("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder) else { return nil }
      } else {
        let image = temporary.path("image")
        try Data(count: 2 << 20).write(to: URL(fileURLWithPath: image))
        guard Self.run("mkfs.ext4", "-q", "-O", "^has_journal", image),
          Self.run("mount", "-o", "loop", image, folder)
        else { return nil }
      }
    }

    func unmount() { _ = Self.run("umount", "-l", folder) }

    private static func run(_ arguments: String...) -> Bool {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = arguments
      process.standardError = Foundation.FileHandle.nullDevice
      // A tool that is not there is like one that refuses.
      guard (try? process.run()) != nil else { return false }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }
  }
}
