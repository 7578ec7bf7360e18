// Support for tests of the tree: trees over fixtures, paths, listings, and realm files that change.

import Foundation
import RealmPages
import TestSupport

@testable import FileTree

/// A realm file that a test may replace, in a folder that is removed with it.
final class ScratchRealm: Sendable {
  private let temporary: TemporaryFolder
  let file: URL
  var folder: URL { temporary.url }

  /// A copy of a fixture.
  convenience init(_ fixture: String) throws { try self.init(bytes: Fixture.named(fixture).bytes()) }

  /// A file with these bytes.
  init(bytes: [UInt8]) throws {
    temporary = try TemporaryFolder()
    file = temporary.url.appending(path: "scratch.realm")
    try write(bytes)
  }

  /// Puts another file in the place of this one, as an atomic save does.
  func replace(by fixture: String) throws {
    let new = folder.appendingPathComponent("new.realm")
    try Data(Fixture.named(fixture).bytes()).write(to: new)
    guard rename(new.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  /// Overwrites the file in place.
  func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: file) }

  func tree(_ options: TreeOptions = TreeOptions(), _ mode: Configuration.Mode = .shared) throws -> FileTree {
    try FileTree(Realm(Configuration(path: file.path, mode: mode)), options: options)
  }

  /// Commits `count` times as another program does, without informing the trees over the file: `value`, `value + 1`,
  /// ... into an Int property.
  func commit(_ className: String, _ key: ObjKey, _ property: String, _ value: Int, count: Int = 1) throws {
    let writer = try RealmWriter(Configuration(path: file.path))
    for value in value..<value + count {
      let transaction = try writer.begin()
      guard let table = try transaction.tableKey(named: "class_" + className),
        let column = try transaction.columns(of: table).first(where: { $0.name == property })
      else { throw EngineError(.notFound, "\(className).\(property)") }
      try transaction.set(table, key, column.key, .int(Int64(value)))
      _ = try transaction.commit()
    }
  }
}

extension FileTree {
  /// A tree over a fixture of the package.
  static func of(_ fixture: String, _ options: TreeOptions = TreeOptions()) throws -> FileTree {
    try FileTree(Realm(Fixture.named(fixture).configuration()), options: options)
  }

  /// The attributes of the node at a path like `Person/4.json`, by one lookup for each name.
  func find(_ path: String) throws(FileTreeError) -> FileAttributes {
    var attributes = try attributes(.root)
    for name in path.split(separator: "/") { attributes = try lookup(attributes.inode, Array(name.utf8)) }
    return attributes
  }

  /// The whole text of the file at a path.
  func text(_ path: String) throws(FileTreeError) -> String {
    let file = try open(find(path).inode)
    defer { release(file) }
    if file.maySeedPageCache { pageCacheSeeded(file) }
    return file.wholeText
  }

  /// The entries of a directory from `position` on, `batch` entries at a call.
  func list(
    _ path: String,
    from position: UInt64 = 0,
    batch: Int = 100,
    attributes: Bool = false
  ) throws(FileTreeError) -> [ListedEntry] {
    try list(openDirectory(find(path).inode), from: position, batch: batch, attributes: attributes)
  }

  /// Lists the entries of an open stream.
  func list(
    _ stream: DirectoryStream,
    from position: UInt64 = 0,
    batch: Int = 100,
    attributes: Bool = false
  ) throws(FileTreeError) -> [ListedEntry] {
    var all: [ListedEntry] = []
    var position = position
    while true {
      var sink = EntrySink(room: batch)
      try readDirectory(stream, from: position, attributes: attributes, into: &sink)
      guard let last = sink.entries.last else { return all }
      all += sink.entries
      position = last.next
    }
  }
}

extension OpenFile {
  var wholeText: String {
    // The size of the content in memory.
    let text = try? read(from: 0, count: .max) { span in
      span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    return text ?? ""
  }
}

/// One entry of a listing.
struct ListedEntry: Equatable {
  let name: String
  let inode: InodeNumber
  let kind: NodeKind
  let attributes: FileAttributes?
  let next: UInt64

  var isDot: Bool { name == "." || name == ".." }
}

/// Accepts a number of entries.
struct EntrySink: DirectorySink {
  let room: Int
  private(set) var entries: [ListedEntry] = []
  private(set) var resets = 0

  init(room: Int) { self.room = room }

  mutating func add(
    _ name: RawSpan,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64
  ) -> Bool {
    if entries.count == room { return false }
    let text = name.withUnsafeBytes { bytes in
      // The contract: a zero byte follows.
      precondition(bytes.baseAddress?.load(fromByteOffset: bytes.count, as: UInt8.self) == 0)
      return String(decoding: bytes, as: UTF8.self)
    }
    entries.append(ListedEntry(name: text, inode: inode, kind: kind, attributes: attributes, next: next))
    return true
  }

  mutating func reset() {
    entries = []
    resets += 1
  }
}

/// The error of the tree that `body` ends with.
func failure<R>(_ body: () throws -> R) -> FileTreeError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? FileTreeError
  }
}

extension FileTreeError {
  /// The case without its associated values.
  var kind: String {
    switch self {
    case .notFound: "notFound"
    case .stale: "stale"
    case .notADirectory: "notADirectory"
    case .isADirectory: "isADirectory"
    case .readOnly: "readOnly"
    case .noSuchAttribute: "noSuchAttribute"
    case .unsupportedAttribute: "unsupportedAttribute"
    case .busy: "busy"
    case .damaged: "damaged"
    case .unavailable: "unavailable"
    case .noSuchClass: "noSuchClass"
    case .refused(let refusal, _): "refused \(refusal)"
    }
  }
}
