// Primary keys: comparing them with stored values, and finding objects by them in formats without an index. Source:
// docs/format/2-model.md M5.

import COpenSSL

/// A primary key that is independent of a snapshot. Used to look up objects.
public enum PrimaryKey: Hashable, Sendable {
  /// Null, which one object of the class can have if the property is optional.
  case null
  /// An integer.
  case int(Int64)
  /// The bytes of a string in UTF-8.
  case string([UInt8])
  /// An ObjectId.
  case objectID(ObjectID)
  /// A UUID.
  case uuid(UniqueID)

  /// A copy of a stored value; nil if a primary key cannot have its type.
  public init?(_ value: ValueView) {
    switch value {
    case .null: self = .null
    case .int(let value): self = .int(value)
    case .string(let value): self = .string(value.bytes)
    case .objectID(let value): self = .objectID(value)
    case .uuid(let value): self = .uuid(value)
    default: return nil
    }
  }

  /// A value as a primary key; nil if a primary key cannot have its type.
  package init?(_ value: Value) {
    guard let key = value.withView({ PrimaryKey($0) }) else { return nil }
    self = key
  }

  /// Returns true if a column of this type can hold the key.
  func fits(_ element: ElementType) -> Bool {
    switch self {
    case .null: element.isNullable
    case .int: element.type == .int
    case .string: element.type == .string
    case .objectID: element.type == .objectID
    case .uuid: element.type == .uuid
    }
  }

  /// Returns true if a stored value equals this key.
  func equals(_ value: ValueView) -> Bool {
    switch (self, value) {
    case (.null, .null): true
    case (.int(let a), .int(let b)): a == b
    case (.string(let a), .string(let b)): b.equals(a)
    case (.objectID(let a), .objectID(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    default: false
    }
  }

  /// Calls `body` with the key as a view.
  func withView<R>(_ body: (ValueView) throws(EngineError) -> R) throws(EngineError) -> R {
    switch self {
    case .null: return try body(.null)
    case .int(let value): return try body(.int(value))
    case .string(let bytes): return try bytes.withView { (view) throws(EngineError) in try body(.string(view)) }
    case .objectID(let id): return try body(.objectID(id))
    case .uuid(let id): return try body(.uuid(id))
    }
  }

  /// The object key that formats up to 21 assign to an object with this primary key, unless it is taken.
  var localKey: ObjKey? {
    let low: UInt64
    switch self {
    case .null: low = 0
    case .int(let value): low = UInt64(bitPattern: value)
    case .string, .objectID:
      let data: [UInt8]
      if case .string(let bytes) = self {
        data = bytes
      } else if case .objectID(let id) = self {
        data = Self.bigEndian(id.high) + Self.bigEndian(id.low)
      } else {
        return nil
      }
      var digest = [UInt8](repeating: 0, count: 20)
      guard unsafe SHA1(data, data.count, &digest) != nil else { return nil }
      low = unsafe digest.withUnsafeBytes { unsafe UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    case .uuid(let id): low = id.low.byteSwapped
    }
    return ObjKey(Int64(low & 0x3FFF_FFFF_FFFF_FFFF))
  }

  private static func bigEndian<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe [UInt8]($0) }
  }
}

/// All primary keys of a table by hash, for formats without an index. Uses 16 bytes per object.
struct PrimaryKeyTable: Sendable {
  private let entries: [(hash: Int, key: ObjKey)]

  /// Reads every object of the table. Cost: O(n log n).
  init(_ table: Table, _ column: Int) throws(EngineError) {
    let cursor = ObjectCursor(table)
    var entries: [(hash: Int, key: ObjKey)] = []
    while try cursor.next() {
      guard let key = PrimaryKey(try cursor.value(column)) else { continue }
      entries.append((key.hashValue, cursor.key))
    }
    entries.sort { $0.hash < $1.hash }
    self.entries = entries
  }

  /// Two objects of `table` with the same primary key; nil if there are none. Cost: O(n).
  func firstDuplicate(_ table: Table, _ column: Int) throws(EngineError) -> (ObjKey, ObjKey)? {
    let cursor = ObjectCursor(table)
    func key(_ object: ObjKey) throws(EngineError) -> PrimaryKey? {
      try cursor.seek(object) ? PrimaryKey(cursor.value(column)) : nil
    }
    for i in entries.indices.dropFirst() where entries[i].hash == entries[i - 1].hash {
      if try key(entries[i].key) == key(entries[i - 1].key) { return (entries[i - 1].key, entries[i].key) }
    }
    return nil
  }

  /// Returns the first object with the hash of `key` for which `isMatch` returns true. Cost: O(log n).
  func first(_ key: PrimaryKey, where isMatch: (ObjKey) throws(EngineError) -> Bool) throws(EngineError) -> ObjKey? {
    let hash = key.hashValue
    for entry in entries[bisect(entries.count) { entries[$0].hash < hash }...] {
      if entry.hash != hash { return nil }
      if try isMatch(entry.key) { return entry.key }
    }
    return nil
  }
}

extension Value {
  /// A primary key as a value.
  package init(_ key: PrimaryKey) {
    switch key {
    case .null: self = .null
    case .int(let value): self = .int(value)
    case .string(let bytes): self = .string(bytes)
    case .objectID(let value): self = .objectID(value)
    case .uuid(let value): self = .uuid(value)
    }
  }
}
