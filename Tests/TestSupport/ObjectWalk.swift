// Reads everything that a realm shows, like a program that trusts nothing: every value of every object, including
// nested ones, the targets of links, and objects by primary key. Unreadable parts are counted and skipped.

public import RealmPages

/// A traversal of one version.
public struct ObjectWalk {
  /// The number of objects visited.
  public private(set) var objects = 0
  /// The number of values and elements read.
  public private(set) var values = 0
  /// The number of parts that could not be read.
  public private(set) var errors = 0
  /// A digest of every byte that was read.
  public private(set) var digest: UInt64 = 0

  /// The traversal ends after this many values.
  private let limit: Int
  /// The budget for reads: the traversal ends if a damaged file shows more than it has room for.
  private var effort: Effort?

  /// Collections in a valid file are not nested more deeply.
  private static let maximumDepth = 110

  /// Creates a traversal that ends after about `limit` values.
  public init(limit: Int = .max) { self.limit = limit }

  /// Reads the whole version.
  public mutating func run(_ snapshot: Snapshot) {
    effort = Effort(snapshot)
    mix(snapshot.version)
    attempt { _ throws(EngineError) in _ = try snapshot.schemaVersion() }
    attempt { _ throws(EngineError) in _ = try snapshot.freeBytes() }
    attempt { walk throws(EngineError) in
      for key in try snapshot.tableKeys() {
        walk.attempt { walk throws(EngineError) in
          guard let table = try snapshot.table(key) else { return }
          walk.attempt { _ throws(EngineError) in _ = try snapshot.storedBytes(of: key) }
          try walk.read(table, snapshot)
        }
      }
    }
  }

  private mutating func attempt(_ body: (inout Self) throws(EngineError) -> Void) {
    do throws(EngineError) { try body(&self) } catch { errors += 1 }
  }

  private mutating func read(_ table: Table, _ snapshot: Snapshot) throws(EngineError) {
    let cursor = ObjectCursor(table, sweep: effort)
    while try cursor.next(), values < limit {
      objects += 1
      mix(UInt64(bitPattern: cursor.key.value))
      for index in table.columns.indices {
        attempt { walk throws(EngineError) in
          let value = try cursor.value(index)
          // The texts of an enumerated property are stored once but read for each object.
          if !table.columns[index].isEnumerated { try walk.effort?.enter(element: value) }
          try walk.read(value, snapshot, depth: 0)
        }
      }
      guard let index = table.primaryKeyIndex, objects & 15 == 1 else { continue }
      attempt { walk throws(EngineError) in
        guard let key = PrimaryKey(try cursor.value(index)) else { return }
        walk.mix(UInt64(bitPattern: try table.objectKey(primaryKey: key)?.value ?? -1))
      }
    }
  }

  private mutating func read(_ value: ValueView, _ snapshot: Snapshot, depth: Int) throws(EngineError) {
    values += 1
    if depth > Self.maximumDepth || values > limit { return }
    switch value {
    case .null: mix(0)
    case .int(let value): mix(UInt64(bitPattern: value))
    case .bool(let value): mix(value ? 1 : 2)
    case .float(let value): mix(UInt64(value.bitPattern))
    case .double(let value): mix(value.bitPattern)
    case .string(let view), .data(let view): for byte in view.unsafeBytes { mix(UInt64(byte)) }
    case .date(let date): mix(UInt64(bitPattern: date.seconds) ^ UInt64(UInt32(bitPattern: date.nanoseconds)))
    case .decimal128(let value): mix(value.low ^ value.high)
    case .objectID(let id): mix(id.high ^ UInt64(id.low))
    case .uuid(let id): mix(id.high ^ id.low)
    case .link(let key, let object):
      if let table = try snapshot.table(key) { mix(try ObjectCursor(table).seek(object) ? 1 : 2) }
    case .list(var list), .set(var list):
      try effort?.enter(list)
      for i in 0..<list.count where values < limit {
        attempt { walk throws(EngineError) in try walk.read(element: list.value(at: i), snapshot, depth) }
      }
    case .dictionary(var dictionary):
      try effort?.enter(dictionary)
      for i in 0..<dictionary.count where values < limit {
        attempt { walk throws(EngineError) in
          for byte in try dictionary.key(at: i).unsafeBytes { walk.mix(UInt64(byte)) }
          try walk.read(element: dictionary.value(at: i), snapshot, depth)
        }
      }
    }
  }

  private mutating func read(element: ValueView, _ snapshot: Snapshot, _ depth: Int) throws(EngineError) {
    try effort?.enter(element: element)
    try read(element, snapshot, depth: depth + 1)
  }

  private mutating func mix(_ word: UInt64) { digest = (digest ^ word) &* 0x100_0000_01B3 }
}
