// Values that several objects share although each value must be unique.

/// Collects the values of a property and finds those that are not unique.
struct DuplicateKeys {
  private var owners: [PrimaryKey: ObjKey] = [:]
  private var repeated: [PrimaryKey: [ObjKey]] = [:]
  private var firstRepeated: PrimaryKey?
  /// The number of objects whose value is not unique.
  private(set) var objects = 0

  /// The maximum number of objects that a message names.
  static let maxNamed = 10

  /// The number of values that are not unique.
  var values: Int { repeated.count }

  /// Adds the value of an object.
  mutating func add(_ value: PrimaryKey, _ object: ObjKey) {
    guard let owner = owners[value] else { return owners[value] = object }
    if firstRepeated == nil { firstRepeated = value }
    objects += repeated[value] == nil ? 2 : 1
    repeated[value, default: [owner]].append(object)
  }

  /// The first value found to be repeated, and all objects that have it.
  var first: (value: PrimaryKey, objects: [ObjKey])? {
    firstRepeated.flatMap { value in repeated[value].map { (value, $0) } }
  }
}

extension PrimaryKey {
  /// The value as shown in messages.
  var shown: String {
    switch self {
    case .null: "null"
    case .int(let value): "\(value)"
    case .string(let bytes): "\"\(String(decoding: bytes, as: UTF8.self))\""
    case .objectID(let id): "\(id)"
    case .uuid(let id): "\(id)"
    }
  }
}
