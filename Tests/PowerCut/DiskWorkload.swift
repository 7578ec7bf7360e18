// The workload on the realms of a recorded disk: every kind of commit, by the library, by commands and by mounts. The
// log of the disk marks each step when it begins and when it is acknowledged.

import Foundation
import RealmPages
import TestSupport

/// The content of a file.
enum Held {
  /// No file, or one to which no header was written yet.
  case nothing
  case realm(EncryptionKey?, Contents)
}

/// Works on the realms of a disk, step by step.
final class DiskWorkload {
  /// One change of one file.
  struct Step {
    let name: String
    let file: String
    /// The content of the file before the step; nil while the workload creates it.
    let old: Held?
    let new: Held
    let isEncrypted: Bool
  }

  private let disk: RecordedDisk
  private let scratch: TemporaryFolder
  private(set) var steps: [Step] = []
  private var held: [String: Held] = [:]
  private var names = 0
  private let keyFile = Fixture.package.appendingPathComponent("Tests/Fixtures/encrypted.key.hex").path
  private let key: EncryptionKey?

  init(_ disk: RecordedDisk) throws {
    self.disk = disk
    scratch = try TemporaryFolder()
    key = try Fixture.key()
  }

  /// Runs everything once; `seed` determines the random parts.
  func run(seed: UInt64) throws {
    defer { scratch.remove() }
    for key in [nil, key] {
      for shape in CommitShape.allCases where shape != .conversion || key == nil { try commit(shape, key) }
      try history(seed, key, .shared)
      try history(seed &+ 1_000_000, key, .exclusive)
    }
    try commands()
    try mount(nil)
    try mount(key)
  }

  // MARK: steps

  private func path(_ file: String) -> String { disk.directory.appendingPathComponent(file).path }

  private func newFile(_ name: String, _ key: EncryptionKey?) -> String {
    names += 1
    return "\(names)-\(name)\(key == nil ? "" : "-encrypted").realm"
  }

  private func look(_ file: String, _ key: EncryptionKey?) throws -> Held {
    .realm(key, try Contents(Realm(Configuration(path: path(file), encryptionKey: key, mode: .immutable)).latest()))
  }

  /// Does something that is on disk when it returns, and after which `file` is read with `key`.
  private func step(_ name: String, _ file: String, _ key: EncryptionKey?, _ body: () throws -> Void) throws {
    let old = held[file] ?? .nothing
    try disk.mark("begin \(steps.count)")
    try body()
    try end(name, file, old: old, new: look(file, key), isEncrypted: key != nil)
  }

  private func end(_ name: String, _ file: String, old: Held?, new: Held, isEncrypted: Bool) throws {
    held[file] = new
    steps.append(Step(name: name, file: file, old: old, new: new, isEncrypted: isEncrypted))
    try disk.mark("end \(steps.count - 1)")
  }

  /// Puts a file on the disk, to begin with.
  private func put(_ bytes: Data, _ file: String, _ key: EncryptionKey?) throws {
    try disk.mark("begin \(steps.count)")
    let url = URL(fileURLWithPath: path(file))
    try bytes.write(to: url)
    for place in [url, disk.directory] {
      let fd = open(place.path, O_RDONLY)
      if fd < 0 || fsync(fd) != 0 { throw Loss(description: "fsync \(place.path)") }
      close(fd)
    }
    try end("put", file, old: nil, new: look(file, key), isEncrypted: key != nil)
  }

  private func put(_ fixture: Fixture, as name: String, _ key: EncryptionKey? = nil) throws -> String {
    let file = newFile(name, key)
    try put(Data(fixture.bytes()), file, key)
    return file
  }

  // MARK: the library

  private func commit(_ shape: CommitShape, _ key: EncryptionKey?) throws {
    let file = newFile("\(shape)", key), configuration = Configuration(path: path(file), encryptionKey: key)
    switch shape {
    case .first: break
    case .conversion: try put(Data(Fixture.named("streaming-form").bytes()), file, key)
    default:
      let before = scratch.path("before.realm")
      try shape.prepare(RealmWriter(Configuration(path: before, encryptionKey: key), create: true))
      try put(Data(contentsOf: URL(fileURLWithPath: before)), file, key)
      try FileManager.default.removeItem(atPath: before)
    }
    try step("\(shape)", file, key) { try shape.act(RealmWriter(configuration, create: shape.isFirst)) }
  }

  /// Random transactions; each is on disk when it returns.
  private func history(_ seed: UInt64, _ key: EncryptionKey?, _ mode: Configuration.Mode) throws {
    let file = newFile("history", key)
    var settings = RandomHistory.Settings()
    settings.encryptionKey = key
    settings.mode = mode
    settings.commits = 12
    settings.fullCommits = 1
    try disk.mark("begin \(steps.count)")
    var history = RandomHistory(seed: seed, path: path(file), settings)
    try history.run { snapshot, _, _ in
      let old = held[file] ?? .nothing
      try end("history", file, old: old, new: .realm(key, Contents(snapshot)), isEncrypted: key != nil)
      try disk.mark("begin \(steps.count)")
    }
    // The last step that began is not executed.
    try disk.mark("none \(steps.count)")
  }

  // MARK: commands

  private func realmfs(_ words: String...) throws { try runProgram([builtProgram("realmfs")] + words) }

  private func commands() throws {
    let otherKey = scratch.path("other.key"), withKey = "--key-file=\(keyFile)"
    let bytes = [UInt8]((0..<64).map { UInt8($0 * 3 + 1) })
    try Data(bytes).write(to: URL(fileURLWithPath: otherKey))
    let people = try put(.named("people"), as: "people"), place = path(people)
    let schema = scratch.path("schema.json"), lines = scratch.path("lines.jsonl")
    try Data(runProgram([builtProgram("realmfs"), "schema", place]).utf8).write(to: URL(fileURLWithPath: schema))
    try Data(runProgram([builtProgram("realmfs"), "export", place]).utf8).write(to: URL(fileURLWithPath: lines))
    try step("set", people, nil) { try realmfs("set", place, "Person/4", "age=78") }
    try step("compact", people, nil) { try realmfs("compact", place) }
    try step("encrypt", people, key) { try realmfs("encrypt", withKey, place) }
    try step("insert, encrypted", people, key) {
      try realmfs("insert", "--quiet", withKey, place, "Dog", #"{"name": "Snoopy", "weight": 3}"#)
    }
    try step("compact, encrypted", people, key) { try realmfs("compact", withKey, place) }
    try step("rekey", people, EncryptionKey(bytes)) { try realmfs("rekey", withKey, "--new-key-file", otherKey, place) }
    try step("decrypt", people, nil) { try realmfs("decrypt", "--key-file", otherKey, place) }
    try step("delete", people, nil) { try realmfs("delete", "--quiet", place, "Dog/Snoopy") }
    try step("undo", people, nil) { try realmfs("undo", place) }
    for key in [nil, key] {
      let keyed = key == nil ? [] : [withKey], created = newFile("created", key)
      try step("create", created, key) {
        try runProgram([builtProgram("realmfs"), "create"] + keyed + ["--schema", schema, path(created)])
      }
      try step("import", created, key) {
        try runProgram([builtProgram("realmfs"), "import", "--quiet"] + keyed + [path(created), lines])
      }
      let backup = newFile("backup", key)
      try step("backup", backup, key) {
        try runProgram([builtProgram("realmfs"), "backup"] + keyed + [path(created), path(backup)])
      }
    }
    let recovered = newFile("recovered", nil)
    try step("recover", recovered, nil) { try realmfs("recover", place, path(recovered)) }
    for name in ["v9-core-5.23.9", "v6-core-2.3.3"] {
      guard let fixture = Fixture.old.first(where: { $0.name == name }) else { continue }
      let old = try put(fixture, as: "old")
      try step("upgrade", old, nil) { try realmfs("upgrade", path(old)) }
    }
    let synced = try put(.named("synced"), as: "synced"), local = newFile("local", nil)
    try step("convert", local, nil) { try realmfs("convert", "--local", path(synced), path(local)) }
  }

  // MARK: mounts

  /// Saves, transactions of several files and a snapshot that is brought back.
  private func mount(_ key: EncryptionKey?) throws {
    let file = try put(.named(key == nil ? "people" : "people-encrypted"), as: "mounted", key)
    let point = scratch.url.appendingPathComponent("mounted"), server = Process()
    try FileManager.default.createDirectory(at: point, withIntermediateDirectories: true)
    server.executableURL = URL(fileURLWithPath: builtProgram("realmfs"))
    server.arguments = ["mount", "-f"] + (key == nil ? [] : ["--key-file", keyFile]) + [path(file), point.path]
    server.standardError = FileHandle.nullDevice
    try server.run()
    let control = point.appendingPathComponent(".realm")
    for _ in 0..<500 where !FileManager.default.fileExists(atPath: control.path) { usleep(10_000) }
    defer {
      server.terminate()
      server.waitUntilExit()
    }
    try step("snapshot", file, key) {
      try FileManager.default.createDirectory(
        at: control.appendingPathComponent("snapshots/before"),
        withIntermediateDirectories: false
      )
    }
    for round in 0..<6 {
      try step("save", file, key) {
        try save(#"{"age": \#(round + 20)}"#, point, "Person/4.json", syncs: round % 2 == 0)
      }
    }
    try step("transaction", file, key) {
      let transaction = control.appendingPathComponent("tx/all")
      try FileManager.default.createDirectory(at: transaction, withIntermediateDirectories: false)
      for object in 900..<905 {
        try save(#"{"name": "Zoe", "age": \#(object)}"#, transaction, "Person/\(object).json", syncs: false)
      }
      try FileManager.default.removeItem(at: transaction.appendingPathComponent("Person/11.json"))
      try save("1", transaction, ".commit", syncs: false)
    }
    try step("remove", file, key) {
      try FileManager.default.removeItem(at: point.appendingPathComponent("Person/900.json"))
    }
    try step("restore", file, key) { try save("1", control, "snapshots/before/.restore", syncs: false) }
  }

  /// Writes a file of a mount.
  private func save(_ text: String, _ folder: URL, _ name: String, syncs: Bool) throws {
    let path = folder.appendingPathComponent(name).path
    let fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    if fd < 0 { throw Loss(description: "open \(path): \(String(cString: strerror(errno)))") }
    let bytes = Array(text.utf8)
    let isWritten = write(fd, bytes, bytes.count) == bytes.count && (!syncs || fsync(fd) == 0)
    if close(fd) != 0 || !isWritten { throw Loss(description: "save \(path): \(String(cString: strerror(errno)))") }
  }
}
