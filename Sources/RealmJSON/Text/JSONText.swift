// A validated JSON text, stored as a flat array of nodes over its bytes, in text order.

public import RealmPages

/// One JSON text, validated against the grammar; callers interpret its values.
///
/// A container's node precedes those of its children and stores where they end, so traversal needs no pointers and
/// skipping a value takes one step. Numbers and plain strings refer to bytes of the text. Line and column are computed
/// only for errors.
public struct JSONText: Sendable {
  /// The maximum size of a text in bytes.
  public static let sizeLimit = 1 << 30

  enum Kind: UInt8 {
    case null, `false`, `true`, number
    /// The content is a range of the text.
    case plainString
    /// The content is a range of `decoded`.
    case decodedString
    case array, object
  }

  struct Node {
    var kind: Kind
    /// The offset of the value in the text.
    var start: UInt32
    /// The offset of the content of a number or string.
    var content: UInt32 = 0
    /// The length of a number or string in bytes, or the number of elements or members.
    var length: UInt32 = 0
    /// The index of the first node after this one and its descendants.
    var end: UInt32
  }

  let bytes: [UInt8]
  let decoded: [UInt8]
  let nodes: [Node]
  private let firstLine: Int

  /// Parses UTF-8 text, with or without a byte order mark. `firstLine` is the number of its first line in errors.
  ///
  /// Cost: O(n), and O(k log k) for an object of k members. A node occupies 20 bytes.
  public init(_ bytes: [UInt8], firstLine: Int = 1) throws(InputError) {
    var reader = JSONReader(bytes, firstLine: firstLine)
    try reader.read()
    self.bytes = bytes
    self.firstLine = firstLine
    decoded = reader.decoded
    nodes = reader.nodes
  }

  /// The memory that the value and its text use, in bytes.
  public var sizeInMemory: Int { bytes.count + decoded.count + nodes.count * MemoryLayout<Node>.stride }

  /// The node of the outermost value.
  static var root: Int { 0 }

  func kind(_ node: Int) -> Kind { nodes[node].kind }

  func isString(_ node: Int) -> Bool { kind(node) == .plainString || kind(node) == .decodedString }

  /// The number of elements or members.
  func count(_ node: Int) -> Int { Int(nodes[node].length) }

  /// The text of a number, or the bytes of a string with its escapes resolved.
  func content(_ node: Int) -> ArraySlice<UInt8> {
    let found = nodes[node], start = Int(found.content)
    let range = start..<start + Int(found.length)
    return found.kind == .decodedString ? decoded[range] : bytes[range]
  }

  /// The content of a string or number for a message, truncated.
  func shown(_ node: Int) -> String {
    let content = content(node)
    let shown = String(decoding: content.prefix(40), as: UTF8.self).printable
    return content.count > 40 ? shown + "..." : shown
  }

  // MARK: children

  /// The nodes of the elements of an array.
  func elements(_ node: Int) -> Elements {
    Elements(nodes: nodes, position: node + 1, end: kind(node) == .array ? Int(nodes[node].end) : 0)
  }

  /// The names and values of the members of an object, in text order.
  func members(_ node: Int) -> Members {
    Members(nodes: nodes, position: node + 1, end: kind(node) == .object ? Int(nodes[node].end) : 0)
  }

  /// The value of the member with this name; nil if there is none or the node is not an object.
  func member(_ name: String, of node: Int) -> Int? {
    let length = name.utf8.count
    for member in members(node) where nodes[member.name].length == length {
      if content(member.name).elementsEqual(name.utf8) { return member.value }
    }
    return nil
  }

  struct Elements: Sequence, IteratorProtocol {
    fileprivate let nodes: [Node]
    fileprivate var position: Int
    fileprivate let end: Int

    mutating func next() -> Int? {
      guard position < end else { return nil }
      defer { position = Int(nodes[position].end) }
      return position
    }
  }

  struct Members: Sequence, IteratorProtocol {
    fileprivate let nodes: [Node]
    fileprivate var position: Int
    fileprivate let end: Int

    mutating func next() -> (name: Int, value: Int)? {
      guard position < end else { return nil }
      defer { position = Int(nodes[position + 1].end) }
      return (position, position + 1)
    }
  }

  // MARK: errors

  /// Returns an error about the value of a node.
  func error(_ kind: InputError.Kind, at node: Int, _ problem: String) -> InputError {
    let (line, column) = Self.place(of: Int(nodes[node].start), in: bytes, firstLine: firstLine)
    return InputError(kind, line: line, column: column, path: path(to: node), problem)
  }

  /// Returns the line and column of a byte.
  static func place(of offset: Int, in bytes: [UInt8], firstLine: Int) -> (line: Int, column: Int) {
    var line = firstLine, column = 1
    let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    for byte in bytes[min(mark, offset)..<offset] {
      if byte == UInt8(ascii: "\n") {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
    return (line, column)
  }

  /// The path to a node, such as `friends[2].name`. Members that only name a type are omitted.
  private func path(to target: Int) -> String {
    var path = "", node = Self.root
    while node != target {
      switch kind(node) {
      case .array:
        guard let (index, child) = elements(node).enumerated().first(where: { nodes[$0.element].end > target }) else {
          return path
        }
        path += "[\(index)]"
        node = child
      case .object:
        guard let (name, value) = members(node).first(where: { nodes[$0.value].end > target }) else { return path }
        if content(name).first != UInt8(ascii: "$") { path += (path.isEmpty ? "" : ".") + shown(name) }
        if name == target { return path }
        node = value
      default: return path
      }
    }
    return path
  }
}

/// The texts of a JSON Lines file, one after another; blank lines are skipped.
public struct JSONLines: Sendable {
  private let bytes: [UInt8]
  private var index = 0
  /// The number of the line read last, from 1.
  public private(set) var line = 0

  /// Creates an iterator over the lines of `bytes`.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the text of the next line that is not blank; nil at the end. After an error, the next call continues with
  /// the following line.
  public mutating func next() throws(InputError) -> JSONText? {
    while index < bytes.count {
      let end = bytes[index...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      let text = bytes[index..<end]
      index = end + 1
      line += 1
      let isBlank = text.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      if !isBlank { return try JSONText(Array(text), firstLine: line) }
    }
    return nil
  }
}
