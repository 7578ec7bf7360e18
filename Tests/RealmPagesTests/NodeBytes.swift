// Nodes built by hand: memory that a test fills with bytes as in the description of the format, or with nodes of plain
// integers.

@testable import RealmPages

/// The bytes of a file under construction.
struct NodeBytes {
  private(set) var bytes = [UInt8](repeating: 0, count: Header.size)

  /// Puts the bytes of a node at `ref`; `hex` leaves out the first four, which mean nothing.
  @discardableResult
  mutating func place(_ hex: String, at ref: Int) -> Int {
    let digits = hex.filter(\.isHexDigit).compactMap(\.hexDigitValue)
    var node: [UInt8] = [0x41, 0x41, 0x41, 0x41]
    node += stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    node += [UInt8](repeating: 0, count: (8 - node.count % 8) % 8)
    if bytes.count < ref + node.count { bytes += [UInt8](repeating: 0, count: ref + node.count - bytes.count) }
    bytes.replaceSubrange(ref..<ref + node.count, with: node)
    return ref
  }

  /// Appends the bytes of a node and returns its ref.
  mutating func add(_ hex: String) -> Int { place(hex, at: bytes.count) }

  /// Adds a node of integers of 64 bits with the given flags.
  mutating func add(_ values: [Int64], flags: UInt8 = 0) -> Int {
    let ref = bytes.count, count = values.count
    bytes += [0x41, 0x41, 0x41, 0x41, flags | 7, UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)]
    for value in values { withUnsafeBytes(of: value.littleEndian) { bytes += $0 } }
    return ref
  }

  /// Adds a node of refs and numbers.
  mutating func addRefs(_ elements: [Element], flags: UInt8 = 0) -> Int {
    add(elements.map(\.word), flags: flags | 0x40)
  }

  /// Adds an inner node of a B+tree or cluster tree.
  mutating func addInner(_ elements: [Element]) -> Int { addRefs(elements, flags: 0x80) }

  /// An element of a has-refs node.
  enum Element {
    case ref(Int), number(Int64)

    fileprivate var word: Int64 {
      switch self {
      case .ref(let ref): Int64(ref)
      case .number(let value): value << 1 | 1
      }
    }
  }

  /// The nodes so far, as a version of a file of some format.
  func arena(format: Int = 24) -> Arena {
    bytes.withUnsafeBytes { Arena(MemoryPages($0), limit: $0.count, format: format) }
  }

  /// The node with the bytes `hex`, alone in a file.
  static func node(_ hex: String) throws -> Node {
    var bytes = NodeBytes()
    let ref = bytes.add(hex)
    let arena = bytes.arena()
    arenas.append(arena)
    return try arena.node(ref)
  }

  /// Nodes borrow from their arena; these are kept for the life of the tests.
  nonisolated(unsafe) private static var arenas: [Arena] = []
}

/// Compares values; `ValueView` is not equatable.
func text(_ value: ValueView) throws -> String {
  switch value {
  case .null: "null"
  case .int(let value): "\(value)"
  case .bool(let value): "\(value)"
  case .float(let value): "float \(value)"
  case .double(let value): "double \(value)"
  case .string(let view): "\"\(view.string)\""
  case .data(let view): "data \(view.bytes)"
  case .date(let date): "date \(date.seconds) \(date.nanoseconds)"
  case .decimal128(let value): "decimal \(String(value.high, radix: 16)) \(String(value.low, radix: 16))"
  case .objectID(let id): "objectId \(String(id.high, radix: 16)) \(String(id.low, radix: 16))"
  case .uuid(let id): "uuid \(String(id.high, radix: 16)) \(String(id.low, radix: 16))"
  case .link(let table, let key): "link \(table) \(key)"
  case .list(var list), .set(var list):
    try "[\((0..<list.count).map { try text(list.value(at: $0)) }.joined(separator: ", "))]"
  case .dictionary(var dictionary):
    try "{"
      + (0..<dictionary.count)
      .map { try dictionary.key(at: $0).string + ": " + text(dictionary.value(at: $0)) }
      .joined(separator: ", ") + "}"
  }
}
