// Live writers on a file system that is shut down without writing its memory: programs that commit, plain and
// encrypted, and a mount with saves. Faster than recorded disks, and with all threads running.

import CDisk
import Foundation
import RealmPages
import Synchronization
import TestSupport

struct Shutdowns {
  private let format: DiskFormat
  private let folder: TemporaryFolder
  private var random: SplitMix64
  private var promisedInAll = 0

  init(_ format: DiskFormat, seed: UInt64) throws {
    self.format = format
    folder = try TemporaryFolder()
    random = SplitMix64(seed: seed)
  }

  /// Cuts the power `rounds` times.
  mutating func run(rounds: Int, report: (String) -> Void) throws {
    defer {
      // Leftovers of a failed run.
      for place in ["point", "disk"] { _ = disk_unmount(folder.path(place)) }
      folder.remove()
    }
    let image = folder.url.appendingPathComponent("image"), disk = folder.url.appendingPathComponent("disk")
    let point = folder.url.appendingPathComponent("point"), start = Date()
    for place in [disk, point] { try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true) }
    try Data().write(to: image)
    try FileHandle(forWritingTo: image).truncate(atOffset: UInt64(max(format.size, 256 << 20)))
    try runProgram(format.maker + [image.path])
    var mounted = try MountedImage(image.path, format, at: disk)
    let saved = disk.appendingPathComponent("saved.realm")
    try Data(Fixture.named("people").bytes()).write(to: saved)
    sync()
    let keyFile = Fixture.package.appendingPathComponent("Tests/Fixtures/encrypted.key.hex")
    let digits = try String(contentsOf: keyFile, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    for round in 0..<rounds {
      let loops = try [("plain", []), ("encrypted", [digits])].map { name, key in
        try Writer(builtProgram("CommitLoop"), [disk.appendingPathComponent("\(name).realm").path] + key)
      }
      let mount = try Saves(saved, at: point, from: round * 1_000_000)
      usleep(useconds_t(100_000 + random.below(600_000)))
      let code = disk_shut_down(disk.path)
      let promises = try loops.map { try $0.kill() }, lastSave = mount.kill()
      try checked(code, "shut \(format.rawValue) down")
      try mounted.unmount()
      mounted = try MountedImage(image.path, format, at: disk)
      let key = try Fixture.key()
      for (name, key, promised) in [("plain", nil, promises[0]), ("encrypted", key, promises[1])] {
        promisedInAll += promised.count
        guard let last = promised.last else { continue }
        let path = disk.appendingPathComponent("\(name).realm").path
        let snapshot = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest()
        try Self.verify(snapshot, "\(name), round \(round)")
        let found = try CommitRound(snapshot)
        if found.number < last || !found.isWhole {
          throw Loss(description: "\(name), round \(round): \(found) after \(last) was acknowledged")
        }
      }
      let snapshot = try Realm(Configuration(path: saved.path, mode: .immutable)).latest()
      try Self.verify(snapshot, "mount, round \(round)")
      promisedInAll += lastSave.count
      if let last = lastSave.value, try Self.age(snapshot) < last {
        throw Loss(description: "mount, round \(round): \(try Self.age(snapshot)) after \(last) was saved")
      }
    }
    try mounted.unmount()
    report(
      """
      \(format.rawValue): \(rounds) shutdowns, \(promisedInAll) acknowledged commits and saves, none lost, \
      \(Int(Date().timeIntervalSince(start))) s
      """
    )
  }

  private static func verify(_ snapshot: Snapshot, _ story: String) throws {
    if let problem = Verifier(snapshot).problems(limit: 1).first { throw Loss(description: "\(story): \(problem)") }
  }

  /// The object that the saves change.
  private static func age(_ snapshot: Snapshot) throws -> Int {
    guard let people = try snapshot.table(named: "class_Person"),
      let column = people.columns.firstIndex(where: { $0.name == "age" }),
      let object = try people.objectKey(primaryKey: .int(4))
    else { throw Loss(description: "no object Person/4") }
    let cursor = ObjectCursor(people)
    guard try cursor.seek(object), case .int(let age) = try cursor.value(column) else {
      throw Loss(description: "Person/4 has no age")
    }
    return Int(age)
  }
}

/// A program that prints the numbers of its acknowledged commits, one per line.
private final class Writer {
  private let process = Process()
  private let pipe = Pipe()

  init(_ program: String, _ words: [String]) throws {
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = words
    process.standardOutput = pipe
    try process.run()
  }

  /// Kills it; its promises.
  func kill() throws -> [Int64] {
    Foundation.kill(process.processIdentifier, SIGKILL)
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { Int64($0) }
  }
}

/// A mount, and a thread that saves one object in it repeatedly.
private final class Saves {
  private let server = Process()
  private let point: URL
  private let state: State
  private let thread: Foundation.Thread

  private final class State: Sendable {
    let last = Mutex<(count: Int, value: Int?)>((0, nil))
    let isOver = Atomic<Bool>(false)
    let hasEnded = Atomic<Bool>(false)
  }

  init(_ file: URL, at point: URL, from first: Int) throws {
    self.point = point
    server.executableURL = URL(fileURLWithPath: builtProgram("realmfs"))
    server.arguments = ["mount", "-f", file.path, point.path]
    server.standardError = FileHandle.nullDevice
    try server.run()
    let control = point.appendingPathComponent(".realm").path
    for _ in 0..<500 where !FileManager.default.fileExists(atPath: control) { usleep(10_000) }
    let state = State(), path = point.appendingPathComponent("Person/4.json").path
    self.state = state
    thread = Foundation.Thread {
      var value = first
      while !state.isOver.load(ordering: .relaxed) {
        value += 1
        let fd = open(path, O_WRONLY | O_TRUNC), bytes = Array(#"{"age": \#(value)}"#.utf8)
        if fd < 0 { break }
        let isWritten = write(fd, bytes, bytes.count) == bytes.count && (value % 2 == 0 || fsync(fd) == 0)
        if close(fd) != 0 || !isWritten { break }
        state.last.withLock { $0 = ($0.count + 1, value) }
      }
      state.hasEnded.store(true, ordering: .relaxed)
    }
    thread.start()
  }

  /// Kills the mount; how often was saved, and the last value.
  func kill() -> (count: Int, value: Int?) {
    state.isOver.store(true, ordering: .relaxed)
    Foundation.kill(server.processIdentifier, SIGKILL)
    server.waitUntilExit()
    for _ in 0..<1000 where !state.hasEnded.load(ordering: .relaxed) { usleep(1000) }
    _ = disk_unmount(point.path)
    return state.last.withLock { $0 }
  }
}
