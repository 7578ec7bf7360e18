// The names of types for comparisons with `@type`. Several names can mean the same type, and some mean several types.

import RealmPages

/// The types that a name means, as a bit set.
struct TypeName {
  private let bits: Int64

  private static let known: [(name: String, bits: Int64)] = [
    ("null", 1), ("int", 2), ("integer", 2), ("int64", 2), ("int32", 2), ("int16", 2), ("short", 2), ("long", 2),
    ("byte", 2), ("char", 2), ("bool", 4), ("boolean", 4), ("string", 8), ("binary", 16), ("data", 16),
    ("bytearray", 16), ("byte[]", 16), ("bindata", 16),
    ("date", 32), ("timestamp", 32), ("datetimeoffset", 32), ("float", 64), ("double", 128), ("decimal", 256),
    ("decimal128", 256), ("link", 512), ("objectlink", 512), ("objectid", 1024), ("uuid", 2048),
    ("guid", 2048), ("array", 4096), ("list", 4096), ("dictionary", 8192), ("object", 8192),
    ("numeric", 2 + 64 + 128 + 256),
    ("collection", 4096 + 8192),
  ]

  /// All names, for error messages.
  static var names: [String] { known.map(\.name) }

  init?(_ name: String) {
    guard let found = Self.known.first(where: { $0.name == name.lowercased() }) else { return nil }
    bits = found.bits
  }

  /// The value to compare with the result of `@type`.
  var value: Value { .int(bits) }

  /// Returns the type of the values of a property; nil for Mixed, whose values have different types.
  static func of(_ type: ValueType) -> ValueView? {
    switch type {
    case .int: .int(2)
    case .bool: .int(4)
    case .string: .int(8)
    case .data: .int(16)
    case .date: .int(32)
    case .float: .int(64)
    case .double: .int(128)
    case .decimal128: .int(256)
    case .link: .int(512)
    case .objectID: .int(1024)
    case .uuid: .int(2048)
    case .mixed: nil
    }
  }

  /// Returns the type of a value, as returned by `@type`.
  static func of(_ value: ValueView) -> ValueView {
    switch value {
    case .list, .set: .int(4096)
    case .dictionary: .int(8192)
    default: value.type.flatMap { of($0) } ?? .int(1)
    }
  }
}
