// Values owned by a program, for writing.

/// A value to write, or a copy of a value that was read.
public enum Value: Hashable, Sendable {
  /// No value: for an optional property, and for elements and Mixed values that are null.
  case null
  /// A signed integer of 64 bits.
  case int(Int64)
  /// A Boolean.
  case bool(Bool)
  /// A floating-point number of 32 bits.
  case float(Float)
  /// A floating-point number of 64 bits.
  case double(Double)
  /// A string as bytes, which should be UTF-8, at most 16 MiB. See also `text(_:)`.
  case string([UInt8])
  /// Binary data.
  case data([UInt8])
  /// A point in time: seconds and nanoseconds since 1970 in UTC.
  case date(Timestamp)
  /// A decimal floating-point number of 34 digits (IEEE 754-2008, decimal128).
  case decimal128(Decimal128)
  /// An ObjectId of 12 bytes.
  case objectID(ObjectID)
  /// A UUID of 16 bytes.
  case uuid(UniqueID)
  /// A link to an object of a table.
  case link(TableKey, ObjKey)
  /// A list, nested in a Mixed or replacing a list property.
  case list([Value])
  /// A dictionary, used like a list. If several entries have the same key, the last one is used.
  case dictionary([Entry])

  /// One entry of a dictionary.
  public struct Entry: Hashable, Sendable {
    /// The key in UTF-8.
    public var key: [UInt8]
    /// The value.
    public var value: Value

    /// An entry whose key consists of the given UTF-8 bytes.
    public init(key: [UInt8], value: Value) {
      self.key = key
      self.value = value
    }
  }

  /// Returns a string value.
  public static func text(_ text: some StringProtocol) -> Value { .string(Array(text.utf8)) }

  /// Makes a deep copy of a value that was read.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public init(copying view: ValueView) throws(EngineError) { try self.init(copying: view, view.effort) }

  /// Makes a deep copy within the budget `effort`, which may be nil for a value without nested values.
  init(copying view: ValueView, _ effort: Effort?) throws(EngineError) {
    switch view {
    case .null: self = .null
    case .int(let value): self = .int(value)
    case .bool(let value): self = .bool(value)
    case .float(let value): self = .float(value)
    case .double(let value): self = .double(value)
    case .string(let bytes): self = .string(bytes.bytes)
    case .data(let bytes): self = .data(bytes.bytes)
    case .date(let value): self = .date(value)
    case .decimal128(let value): self = .decimal128(value)
    case .objectID(let value): self = .objectID(value)
    case .uuid(let value): self = .uuid(value)
    case .link(let table, let key): self = .link(table, key)
    case .list(var list), .set(var list):
      var values: [Value] = []
      try effort?.enter(list)
      for i in 0..<list.count {
        let element = try list.value(at: i)
        try effort?.enter(element: element)
        values.append(try Value(copying: element, effort))
      }
      self = .list(values)
    case .dictionary(var dictionary):
      var entries: [Entry] = []
      try effort?.enter(dictionary)
      for i in 0..<dictionary.count {
        let (key, value) = (try dictionary.key(at: i), try dictionary.value(at: i))
        try effort?.enter(element: value)
        entries.append(Entry(key: key.bytes, value: try Value(copying: value, effort)))
      }
      self = .dictionary(entries)
    }
  }

  /// Calls `body` with the value as a view. A list or dictionary appears as an empty one.
  @inline(__always)
  package func withView<R, E: Error>(_ body: (ValueView) throws(E) -> R) throws(E) -> R {
    switch self {
    case .null: return try body(.null)
    case .int(let value): return try body(.int(value))
    case .bool(let value): return try body(.bool(value))
    case .float(let value): return try body(.float(value))
    case .double(let value): return try body(.double(value))
    case .string(let bytes): return try bytes.withView { view throws(E) in try body(.string(view)) }
    case .data(let bytes): return try bytes.withView { view throws(E) in try body(.data(view)) }
    case .date(let value): return try body(.date(value))
    case .decimal128(let value): return try body(.decimal128(value))
    case .objectID(let value): return try body(.objectID(value))
    case .uuid(let value): return try body(.uuid(value))
    case .link(let table, let key): return try body(.link(table, key))
    case .list: return try body(.list(ListView.empty))
    case .dictionary: return try body(.dictionary(DictionaryView.empty))
    }
  }

  /// Returns true if a property or collection of `element`s can hold the value. Checks only the target table of a link.
  func fits(_ element: ElementType) -> Bool {
    switch (self, element.type) {
    case (.null, _): element.isNullable || element.type == .mixed
    case (.int, .int), (.bool, .bool), (.float, .float), (.double, .double), (.string, .string), (.data, .data),
      (.date, .date), (.decimal128, .decimal128), (.objectID, .objectID), (.uuid, .uuid), (_, .mixed):
      true
    case (.link(let table, _), .link): table == element.target
    default: false
    }
  }

  /// True if only the type of a property decides whether it can hold the value.
  var isPlain: Bool {
    switch self {
    case .null, .int, .bool, .float, .double, .decimal128, .objectID, .uuid: true
    case .string(let bytes), .data(let bytes): bytes.count <= BlobLimit.string
    case .date(let date): date.nanoseconds >= 0 && date.nanoseconds < 1_000_000_000 && date.seconds >= 0
    case .link, .list, .dictionary: false
    }
  }

  /// A description of the limit that the value exceeds; nil if it is within all limits.
  var brokenLimit: String? {
    switch self {
    case .string(let bytes) where bytes.count > BlobLimit.string:
      "a string of \(bytes.count) bytes: the format holds \(BlobLimit.string)"
    case .data(let bytes) where bytes.count > BlobLimit.data:
      "a binary of \(bytes.count) bytes: the format holds \(BlobLimit.data)"
    case .date(let date)
    where date.nanoseconds.magnitude >= 1_000_000_000 || date.seconds > 0 && date.nanoseconds < 0
      || date.seconds < 0 && date.nanoseconds > 0:
      "a date whose nanoseconds do not fit its seconds"
    case .int, .null: nil
    default: nil
    }
  }
}

extension Array where Element == UInt8 {
  /// Calls `body` with a view of the bytes.
  @inline(__always)
  func withView<R, E: Error>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try unsafe withUnsafeBytesOf { (bytes) throws(E) in
      try unsafe body(ByteView(base: bytes.baseAddress ?? ByteView.empty.base, count: count))
    }
  }
}
