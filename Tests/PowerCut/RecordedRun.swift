// Commits whose every write is recorded, and the promise of each. A crash may restore the version on disk before the
// commit in progress, and none before that.

import Foundation
import RealmPages
import TestSupport

/// Commits to one file, with their writes.
struct RecordedRun {
  /// The workload and its seed.
  let name: String
  let key: EncryptionKey?
  /// The file before; empty if the run creates it.
  let before: [UInt8]
  let events: [StorageEvent]
  /// The content of the file after each commit, from the initial version on.
  private(set) var versions: [Contents]
  /// The versions on disk after each number of syncs.
  private var durable: [(index: Int, syncs: Int)] = [(0, 0)]

  /// True if the file does not exist before the run.
  var isNew: Bool { before.isEmpty }

  /// The versions that a crash may leave when `syncs` syncs have ended: the one on disk, or the next one to reach the
  /// disk; of grouped commits, which reach it together, also those in between.
  func allowed(after syncs: Int) -> ArraySlice<Contents> {
    let first = durable.last { $0.syncs <= syncs }?.index ?? 0
    let last = durable.first { $0.syncs > syncs }?.index ?? first
    return versions[first...max(first, last)]
  }

  /// Metadata of encrypted files is written in sectors, each with eight slots, their pages as wholes; see
  /// docs/RELIABILITY.md.
  func unit(at offset: Int) -> Int { key == nil || offset / 4096 % 65 == 0 ? 512 : 4096 }

  /// A kind of commit.
  init(_ shape: CommitShape, key: EncryptionKey?, mode: Configuration.Mode) throws {
    let folder = try TemporaryFolder(), path = folder.path("a.realm")
    defer { folder.remove() }
    let configuration = Configuration(path: path, encryptionKey: key, mode: mode)
    switch shape {
    case .first: break
    case .conversion: try Data(Fixture.named("streaming-form").bytes()).write(to: URL(fileURLWithPath: path))
    default: try shape.prepare(RealmWriter(configuration, create: true))
    }
    before = shape.isFirst ? [] : [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let old = shape.isFirst ? try Self.empty() : try Contents(Realm(configuration).latest())
    let log = EventLog()
    let writer = try RealmWriter(configuration, create: shape.isFirst, over: { RecordingStorage($0, into: log) })
    try shape.act(writer)
    name = "\(shape)\(key == nil ? "" : ", encrypted")"
    self.key = key
    events = log.events
    versions = [old, try Contents(writer.realm.latest())]
    durable.append((1, log.syncs))
  }

  /// Random transactions of every operation, grouped ones among them, in a new file.
  init(history seed: UInt64, key: EncryptionKey?) throws {
    let folder = try TemporaryFolder(), path = folder.path("a.realm")
    defer { folder.remove() }
    let log = EventLog()
    var settings = RandomHistory.Settings()
    settings.encryptionKey = key
    settings.mode = .exclusive
    (settings.commits, settings.operations, settings.objects) =
      [(24, 30, 40), (10, 200, 300), (40, 8, 20)][
        Int(seed % 3)
      ]
    settings.fullCommits = [1, 3, 12][Int(seed / 3 % 3)]
    settings.over = { RecordingStorage($0, into: log) }
    var versions = [try Self.empty()], durable = [(index: 0, syncs: 0)]
    let onDisk = Configuration(path: path, encryptionKey: key, mode: .immutable)
    func note() throws {
      let shown = try Realm(onDisk).latest().version
      let index = versions.lastIndex { $0.version <= shown } ?? 0
      if index > (durable.last?.index ?? 0) { durable.append((index, log.syncs)) }
    }
    do {
      var history = RandomHistory(seed: seed, path: path, settings)
      try history.run { snapshot, _, _ in
        versions.append(try Contents(snapshot))
        try note()
      }
    }
    try note()
    name = "history \(seed)\(key == nil ? "" : ", encrypted")"
    self.key = key
    before = []
    events = log.events
    self.versions = versions
    self.durable = durable
  }

  /// A commit to a file that a crash left.
  init(continuing file: [UInt8], key: EncryptionKey?) throws {
    let folder = try TemporaryFolder(), path = folder.path("a.realm")
    defer { folder.remove() }
    try Data(file).write(to: URL(fileURLWithPath: path))
    let log = EventLog()
    let writer = try RealmWriter(
      Configuration(path: path, encryptionKey: key, mode: .exclusive),
      create: false,
      over: { RecordingStorage($0, into: log) }
    )
    let old = try Contents(writer.realm.latest())
    try CommitShape.more(writer)
    name = "after a crash"
    self.key = key
    before = file
    events = log.events
    versions = [old, try Contents(writer.realm.latest())]
    durable.append((1, log.syncs))
  }

  /// The content of a realm without commits.
  static func empty() throws -> Contents {
    try Contents(RealmWriter(memory: MemoryStorage(name: "empty")).realm.latest())
  }
}
