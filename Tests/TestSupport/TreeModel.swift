// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The expected contents of a tree of object files: the schema and objects as JSON, with the rules of docs/COMMANDS.md
// implemented again in the simplest way. It does not use the engine.

/// The name of a file, compared byte by byte: `String` considers two encodings of é equal.
public struct FileName: Hashable, Comparable, Sendable, CustomStringConvertible {
  public let description: String
  private let bytes: [UInt8]

  public init(_ name: String) { (description, bytes) = (name, Array(name.utf8)) }

  public static func == (a: FileName, b: FileName) -> Bool { a.bytes == b.bytes }
  public static func < (a: FileName, b: FileName) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
  public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  /// The name without the extension of all objects.
  var stem: String { String(decoding: bytes.dropLast(".json".utf8.count), as: UTF8.self) }
}

/// A realm as the texts of its files.
public struct TreeModel: Sendable {
  /// One property, as `.realm/schema.json` describes it.
  public struct Property: Sendable {
    public let name: String
    /// A scalar type, or `object`; for a collection, the type of its elements.
    public let type: String
    /// `list`, `set` or `dictionary`.
    public let collection: String?
    /// The target class of links and embedded objects.
    public let target: String?
    public var isOptional: Bool
    public var index: JSONTree?

    /// The value of this property in an object whose text omits it.
    public var defaultValue: JSONTree {
      switch collection {
      case "list", "set": .array([])
      case "dictionary": .object([])
      default: isOptional ? .null : requiredDefault
      }
    }

    private var requiredDefault: JSONTree {
      switch type {
      case "int": .number("0")
      case "bool": .bool(false)
      case "float", "double": .number("0.0")
      case "string", "data": .text("")
      case "date": .text("1970-01-01T00:00:00Z")
      case "decimal128": .text("0")
      case "objectId": .text(String(repeating: "0", count: 24))
      case "uuid": .text("00000000-0000-0000-0000-000000000000")
      default: .null
      }
    }

    /// Parses a member of a schema.
    init(_ member: JSONTree.Member) {
      let facts = member.value, type = facts["type"]?.string ?? "", named = facts["objectType"]?.string
      name = String(decoding: member.name, as: UTF8.self)
      isOptional = facts["optional"] == .bool(true)
      index = facts["indexed"]
      let isCollection = ["list", "set", "dictionary"].contains(type)
      collection = isCollection ? type : nil
      let element = isCollection ? named ?? "" : type
      let isScalar = Self.scalars.contains(element)
      self.type = isScalar ? element : "object"
      target = isScalar ? nil : named
    }

    public static let scalars = [
      "int", "bool", "float", "double", "string", "data", "date", "decimal128", "objectId", "uuid", "mixed",
    ]
  }

  /// One class.
  public struct Class: Sendable {
    public let name: String
    public let isEmbedded: Bool
    /// True if its objects cannot be edited.
    public let isReadOnly: Bool
    public let primaryKey: String?
    public var properties: [Property]
    /// Values by file name, in the order of the schema.
    public var objects: [FileName: [JSONTree]] = [:]

    public func property(_ name: String) -> Int? { properties.firstIndex { $0.name == name } }
  }

  public internal(set) var classes: [Class] = []

  public struct Disagreement: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
  }

  /// Creates a realm without objects, with the schema in the text of `.realm/schema.json`.
  public init(schema: JSONTree) {
    classes = (schema["schema"]?.elements ?? []).map { facts in
      Class(
        name: facts["name"]?.string ?? "",
        isEmbedded: facts["embedded"] == .bool(true),
        isReadOnly: facts["asymmetric"] == .bool(true),
        primaryKey: facts["primaryKey"]?.string,
        properties: (facts["properties"]?.members ?? []).map(Property.init)
      )
    }
  }

  public func index(of name: String) -> Int? { classes.firstIndex { $0.name == name } }

  // MARK: objects

  /// Adds an object as a file shows it.
  public mutating func add(_ file: FileName, to index: Int, text: [UInt8]) throws {
    let object = try JSONTree(text)
    if object.printed(pretty: true) != text { throw Disagreement("\(file) is not laid out as it should be") }
    if !object.members.map(\.name).elementsEqual(classes[index].properties.map { Array($0.name.utf8) }) {
      throw Disagreement("\(file) has other properties than the schema")
    }
    classes[index].objects[file] = object.members.map(\.value)
  }

  /// Returns the expected content of an object's file.
  public func object(_ file: FileName, of index: Int) -> JSONTree? {
    guard let values = classes[index].objects[file] else { return nil }
    return .object(zip(classes[index].properties, values).map { JSONTree.Member($0.name, $1) })
  }

  /// Returns the value that identifies an object in links: its primary key, or its object key, which is the name of its
  /// file.
  public func identity(_ file: FileName, of index: Int) -> JSONTree? {
    guard let key = classes[index].primaryKey else {
      return Int64(file.stem).map { JSONTree.integer($0) }
    }
    guard let at = classes[index].property(key) else { return nil }
    return classes[index].objects[file]?[at]
  }

  /// A link to an object from a property of its class.
  public func link(to file: FileName, of index: Int) -> JSONTree? {
    guard let identity = identity(file, of: index) else { return nil }
    return identity == .null ? reference(identity, index) : identity
  }

  /// A link to an object in a Mixed.
  public func typedLink(to file: FileName, of index: Int) -> JSONTree? {
    identity(file, of: index).map { reference($0, index) }
  }

  private func reference(_ identity: JSONTree, _ index: Int) -> JSONTree {
    .members(["$ref": .text(classes[index].name), "$id": identity])
  }

  // MARK: changes

  /// Returns the values of a new object whose text contained some of them.
  public func newObject(_ index: Int, _ named: [String: JSONTree]) -> [JSONTree] {
    classes[index].properties.map { named[$0.name] ?? $0.defaultValue }
  }

  public mutating func patch(_ file: FileName, of index: Int, _ named: [String: JSONTree]) {
    for (name, value) in named {
      if let at = classes[index].property(name) { classes[index].objects[file]?[at] = value }
    }
  }

  /// Deletes an object: links to it become null, or are removed from lists and sets.
  public mutating func remove(_ file: FileName, of index: Int) {
    guard let link = link(to: file, of: index), let typed = typedLink(to: file, of: index) else { return }
    classes[index].objects[file] = nil
    let gone = Gone(className: classes[index].name, link: link, typedLink: typed)
    for origin in classes.indices where !classes[origin].isEmbedded {
      for (name, values) in classes[origin].objects {
        let left = zip(classes[origin].properties, values).map { without(gone, $1, $0) }
        if left != values { classes[origin].objects[name] = left }
      }
    }
  }

  private struct Gone {
    let className: String
    let link: JSONTree
    let typedLink: JSONTree
  }

  private func without(_ gone: Gone, _ value: JSONTree, _ property: Property) -> JSONTree {
    switch property.collection {
    case "list", "set":
      return .array(value.elements.compactMap { without(gone, element: $0, property) })
    case "dictionary":
      return Self.dictionary(
        Self.entries(value).map { .init($0.name, without(gone, element: $0.value, property) ?? .null) }
      )
    default: return without(gone, element: value, property) ?? .null
    }
  }

  /// Returns the element after the deletion; nil if it is removed.
  private func without(_ gone: Gone, element: JSONTree, _ property: Property) -> JSONTree? {
    if property.type == "mixed" { return withoutTyped(gone, element) }
    guard property.type == "object", let target = property.target, element != .null else { return element }
    if target == gone.className { return element == gone.link ? nil : element }
    guard let index = index(of: target), classes[index].isEmbedded else { return element }
    return .object(
      zip(classes[index].properties, element.members).map { property, member in
        JSONTree.Member(member.name, without(gone, member.value, property))
      }
    )
  }

  private func withoutTyped(_ gone: Gone, _ value: JSONTree) -> JSONTree? {
    if value == gone.typedLink { return nil }
    switch value {
    case .array(let elements): return .array(elements.compactMap { withoutTyped(gone, $0) })
    case .object(let members) where members.first?.name.first != UInt8(ascii: "$") || value["$dictionary"] != nil:
      let entries = value["$dictionary"]?.members ?? members
      return Self.dictionary(entries.map { JSONTree.Member($0.name, withoutTyped(gone, $0.value) ?? .null) })
    default: return value
    }
  }

  /// The entries of a dictionary, which is wrapped if one of its keys begins with `$`.
  public static func entries(_ value: JSONTree) -> [JSONTree.Member] { value["$dictionary"]?.members ?? value.members }

  /// Returns a dictionary as it is printed.
  public static func dictionary(_ entries: [JSONTree.Member]) -> JSONTree {
    let sorted = entries.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    return sorted.contains { $0.name.first == UInt8(ascii: "$") }
      ? .members(["$dictionary": .object(sorted)]) : .object(sorted)
  }

  /// Returns the value with defaults added for properties that embedded objects in it do not have yet.
  func completed(_ value: JSONTree, _ property: Property) -> JSONTree {
    guard let index = property.target.flatMap({ self.index(of: $0) }), classes[index].isEmbedded else { return value }
    func object(_ value: JSONTree) -> JSONTree {
      if value == .null { return value }
      let members = value.members
      return .object(
        classes[index].properties.enumerated().map { i, property in
          .init(property.name, i < members.count ? completed(members[i].value, property) : property.defaultValue)
        }
      )
    }
    switch property.collection {
    case "list": return .array(value.elements.map(object))
    case "dictionary": return Self.dictionary(Self.entries(value).map { .init($0.name, object($0.value)) })
    default: return object(value)
    }
  }

  // MARK: comparison

  /// Returns the difference between a text and the object that it should show; nil if there is none. The order of sets
  /// is determined by the engine.
  public func difference(_ text: [UInt8], _ file: FileName, of index: Int) throws -> String? {
    guard let expected = object(file, of: index) else { return "it should not exist" }
    let found = try JSONTree(text)
    if found.printed(pretty: true) != text { return "it is not laid out as it should be" }
    if found == expected { return nil }
    if found.members.map(\.name) != expected.members.map(\.name) { return "it has other properties" }
    for (property, (a, b)) in zip(classes[index].properties, zip(found.members, expected.members)) {
      if unordered(a.value, property) == unordered(b.value, property) { continue }
      let (shown, wanted) = (a.value.printed(pretty: false), b.value.printed(pretty: false))
      return "\(property.name): \(String(decoding: shown, as: UTF8.self)) instead of "
        + String(decoding: wanted, as: UTF8.self)
    }
    return nil
  }

  /// Returns the value with the elements of sets in an arbitrary but fixed order.
  private func unordered(_ value: JSONTree, _ property: Property) -> JSONTree {
    if property.collection == "set" {
      let printed = value.elements.map { (text: $0.printed(pretty: false), element: $0) }
      return .array(printed.sorted { $0.text.lexicographicallyPrecedes($1.text) }.map(\.element))
    }
    guard let index = property.target.flatMap({ self.index(of: $0) }), classes[index].isEmbedded else { return value }
    func object(_ value: JSONTree) -> JSONTree {
      if value == .null || value.members.count != classes[index].properties.count { return value }
      return .object(
        zip(classes[index].properties, value.members).map { .init($1.name, unordered($1.value, $0)) }
      )
    }
    switch property.collection {
    case "list": return .array(value.elements.map(object))
    case "dictionary": return .object(Self.entries(value).map { .init($0.name, object($0.value)) })
    default: return object(value)
    }
  }
}
