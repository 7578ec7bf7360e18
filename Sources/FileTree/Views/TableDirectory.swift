// One table of one version as a directory: its name, its place in the tree, and the names of its objects.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// A table as a directory of objects.
final class TableDirectory: Sendable {
  /// The place of a table's directory.
  enum Place: Sendable {
    /// In the root: a class that the mount shows.
    case root
    /// In `.realm/tables`: an internal table of the SDK.
    case tables
    /// Nowhere: an embedded class, or a class that the mount does not show.
    case nowhere
  }

  let table: Table
  let ordinal: TableOrdinal
  let place: Place
  /// The escaped name.
  let name: [UInt8]
  let stamp: ChangeStamp
  private let registered: TableRegistry.Registered
  private let longNames = LongNames()
  /// The primary key column, which names objects; nil for classes without one and for other tables, whose objects are
  /// named by object key.
  private let namingColumn: Int?

  init(_ table: Table, _ registered: TableRegistry.Registered, _ place: Place, _ stamp: ChangeStamp) {
    self.table = table
    self.registered = registered
    self.place = place
    self.stamp = stamp
    ordinal = registered.ordinal
    namingColumn = table.className == nil ? nil : table.primaryKeyIndex
    name = registered.name
  }

  /// The inode of the directory.
  var inode: InodeNumber { registered.inode }

  /// The name for messages.
  var shownName: String { String(decoding: name, as: UTF8.self) }

  // MARK: interest

  /// Records that the kernel requested an object of the table.
  func noteInterest() { registered.interest.add(1, ordering: .relaxed) }

  /// The number of calls of `noteInterest`, across versions.
  var interest: UInt64 { registered.interest.load(ordering: .relaxed) }

  // MARK: names of objects

  /// Replaces `name` with the file name of the object at `cursor`.
  func name(of cursor: ObjectCursor, into name: OutputBuffer) throws(EngineError) {
    name.reset()
    try NameEscaping.append(fileOf: cursor, column: namingColumn, to: name)
  }

  /// The object whose file has this name; nil if there is none. Cost: O(log n), but O(n) for the first long name of a
  /// class.
  func objectKey(named name: [UInt8]) throws(EngineError) -> ObjKey? {
    if let damage = table.damage { throw damage }
    let type = namingColumn.map { table.columns[$0].type }
    switch NameEscaping.parse(file: name, primaryKey: type) {
    case nil: return nil
    case .objectKey(let key): return try table.contains(key) ? key : nil
    case .key(let primaryKey): return try table.objectKey(primaryKey: primaryKey)
    case .hashed(_, let digest): return try longNames.find(digest, name, in: self)
    }
  }
}

/// The objects of a class whose names are shortened and end in a hash; found by one scan and cached.
private final class LongNames: Sendable {
  private struct Known {
    var keys: [UInt64: ObjKey] = [:]
    /// True if `keys` contains all objects with long names.
    var isComplete = false
  }

  /// The maximum number of cached names; each lookup of another name requires a scan.
  private static let maximumCount = 65_536

  private let known = Mutex<Known?>(nil)

  /// Returns the object of `directory` with this name, which contains `digest`.
  func find(_ digest: UInt64, _ name: [UInt8], in directory: TableDirectory) throws(EngineError) -> ObjKey? {
    if let known = known.withLock({ $0 }) {
      if let key = known.keys[digest] { return try isName(name, of: key, directory) ? key : nil }
      if known.isComplete { return nil }
    }
    return try scan(for: name, directory)
  }

  private func isName(_ name: [UInt8], of key: ObjKey, _ directory: TableDirectory) throws(EngineError) -> Bool {
    let cursor = ObjectCursor(directory.table)
    guard try cursor.seek(key) else { return false }
    let actual = OutputBuffer()
    try directory.name(of: cursor, into: actual)
    return actual.equals(name)
  }

  /// Scans the names of all objects, caches the shortened ones and returns the object called `name`.
  private func scan(for name: [UInt8], _ directory: TableDirectory) throws(EngineError) -> ObjKey? {
    var found = Known(isComplete: true)
    var wanted: ObjKey?
    let cursor = ObjectCursor(directory.table)
    let actual = OutputBuffer()
    while true {
      do {
        if try !cursor.next() { break }
      } catch {
        // Objects after the damage cannot be reached, but those before it are valid.
        if wanted != nil { return wanted }
        throw error
      }
      do {
        try directory.name(of: cursor, into: actual)
      } catch {
        continue  // An object with a damaged primary key cannot match.
      }
      // A shortened name has at least 229 + 18 + 5 bytes.
      guard actual.count >= 252,
        case .hashed(_, let digest) = NameEscaping.parse(file: actual.bytes, primaryKey: .string)
      else { continue }
      if actual.equals(name) { wanted = cursor.key }
      if found.keys.count < Self.maximumCount { found.keys[digest] = cursor.key } else { found.isComplete = false }
    }
    known.withLock { $0 = found }
    return wanted
  }
}
