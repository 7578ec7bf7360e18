// Parses schema files: the canonical object-schema format of Realm JavaScript, and its short forms. Unknown names are
// rejected, so that no part of a schema is silently ignored.

public import RealmPages

extension SchemaDescription {
  /// Parses `{"schemaVersion": .., "schema": [..]}`, or the array of classes alone.
  ///
  /// Omits `linkingObjects`, since a realm file does not store them. Every class that is linked to must be in the text.
  public init(_ text: JSONText) throws(InputError) {
    var version: UInt64?
    var list: Int? = JSONText.root
    if text.kind(JSONText.root) != .array {
      try text.checkNames(JSONText.root, "a schema", ["schemaVersion", "schema"])
      if let node = text.member("schemaVersion", of: JSONText.root), text.kind(node) != .null {
        guard case .int(let number) = try text.scalar(node, as: .int), number >= 0 else {
          throw text.error(.outOfRange, at: node, "a schema version is 0 or more")
        }
        version = UInt64(number)
      }
      list = text.member("schema", of: JSONText.root)
    }
    guard let list, text.kind(list) == .array else {
      throw text.mismatch(list ?? JSONText.root, "a schema: {\"schemaVersion\": 1, \"schema\": [..]}")
    }
    var classes: [ClassDescription] = []
    var names: Set<ExactName> = []
    for node in text.elements(list) {
      let description = try ClassDescription(text, node)
      if !names.insert(ExactName(description.name)).inserted {
        throw text.error(.syntax, at: node, "class \(description.name) is defined twice; remove one of them")
      }
      classes.append(description)
    }
    for (node, description) in zip(text.elements(list), classes) {
      for property in description.properties {
        guard let target = property.target, !names.contains(ExactName(target)) else { continue }
        let place = text.member("properties", of: node).flatMap { text.member(property.name, of: $0) } ?? node
        let hint = PropertyDescription.hint(forType: target, classes: classes.map(\.name))
        throw text.error(.wrongType, at: place, "\(target) is neither a type nor a class of this schema\(hint)")
      }
    }
    self.init(version: version, classes: classes)
  }
}

extension ClassDescription {
  /// Parses one class: `{"name": .., "primaryKey": .., "properties": {..}}`.
  ///
  /// The classes that it links to need not be in the text.
  public init(_ text: JSONText) throws(InputError) {
    try self.init(text, JSONText.root)
  }

  fileprivate init(_ text: JSONText, _ node: Int) throws(InputError) {
    try text.checkNames(node, "a class", ["name", "primaryKey", "embedded", "asymmetric", "properties"])
    guard let nameNode = text.member("name", of: node), text.isString(nameNode) else {
      throw text.error(.wrongType, at: text.member("name", of: node) ?? node, "a class needs a \"name\", a string")
    }
    let name = text.fullString(nameNode)
    let isEmbedded = try text.flag("embedded", of: node) ?? false
    let isAsymmetric = try text.flag("asymmetric", of: node) ?? false
    if isEmbedded && isAsymmetric {
      throw text.error(.wrongType, at: node, "class \(name) cannot be both embedded and asymmetric")
    }
    guard let members = text.member("properties", of: node), text.kind(members) == .object else {
      throw text.error(
        .wrongType,
        at: text.member("properties", of: node) ?? node,
        "class \(name) needs \"properties\", an object; {} if it has none"
      )
    }
    var properties: [PropertyDescription] = []
    for (propertyName, value) in text.members(members) {
      if let property = try PropertyReader(text: text, name: text.fullString(propertyName), node: value).read() {
        properties.append(property)
      }
    }
    var primaryKey: String?
    if let node = text.member("primaryKey", of: node), text.kind(node) != .null {
      let keyName = text.isString(node) ? text.fullString(node) : ""
      guard let index = properties.firstIndex(where: { $0.name.isExactly(keyName) }) else {
        throw text.error(.wrongType, at: node, "the primary key must be the name of a property of \(name)")
      }
      // The index of a primary key is implied.
      if properties[index].index == .general { properties[index].index = nil }
      primaryKey = keyName
    }
    self.init(
      name: name,
      kind: isEmbedded ? .embedded : isAsymmetric ? .asymmetric : .topLevel,
      primaryKey: primaryKey,
      properties: properties
    )
  }
}

extension PropertyDescription {
  /// Creates a property from the short form of its type: `int?`, `string[]`, `double{}`, `uuid<>`, or the name of a
  /// class.
  ///
  /// A name that is not a type is the name of a class, which need not exist.
  public init(name: String, type: String) throws(InputError) {
    let text = try JSONText(Array(JSONValue.string(type).line.utf8))
    guard let property = try PropertyReader(text: text, name: name, node: JSONText.root).read() else {
      throw text.error(.wrongType, at: JSONText.root, "\(type) cannot be stored in a realm")
    }
    self = property
  }

  /// The names of the value types.
  package static let typeNames = PropertyReader.scalars.map(SchemaRenderer.name)

  /// Names of the value types in other systems.
  private static let foreignTypes = [
    "integer": "int", "long": "int", "short": "int", "byte": "int", "bigint": "int", "number": "double",
    "real": "double", "text": "string", "varchar": "string", "char": "string", "boolean": "bool", "binary": "data",
    "blob": "data", "bytes": "data", "datetime": "date", "timestamp": "date", "time": "date", "decimal": "decimal128",
    "numeric": "decimal128", "any": "mixed", "guid": "uuid",
  ]

  /// Returns `; did you mean string?` for a name that is neither a type nor one of `classes`, or an empty string.
  package static func hint(forType name: String, classes: [String]) -> String {
    let meant = foreignTypes[name.lowercased()] ?? KnownNames(typeNames + classes).nearest(to: name)
    return meant.map { "; did you mean \($0)?" } ?? ""
  }
}

extension JSONText {
  /// Throws if an object has unknown members.
  fileprivate func checkNames(_ node: Int, _ what: String, _ known: [String]) throws(InputError) {
    guard kind(node) == .object else { throw mismatch(node, "\(what), an object") }
    for (name, _) in members(node) where !known.contains(fullString(name)) {
      let list = known.joined(separator: ", ")
      throw error(.unknownProperty, at: name, "\"\(shown(name))\" is not part of \(what); its parts are \(list)")
    }
  }

  /// Returns a Boolean member; nil if it is absent.
  fileprivate func flag(_ name: String, of node: Int) throws(InputError) -> Bool? {
    guard let value = member(name, of: node) else { return nil }
    guard case .bool(let flag) = try scalar(value, as: .bool) else { return nil }
    return flag
  }
}

/// Parses one property in the full form or a short form.
private struct PropertyReader {
  let text: JSONText
  let name: String
  let node: Int

  /// The parsed short form of a type, such as `int?[]`.
  private struct ShortType {
    var type: ValueType
    var target: String?
    var collection: CollectionKind?
    /// Nil if not specified.
    var isNullable: Bool?
  }

  /// Parses the property; nil for a property that a realm file does not store.
  func read() throws(InputError) -> PropertyDescription? {
    if text.isString(node) { return try property(short(text.fullString(node), at: node), index: nil) }
    guard text.kind(node) == .object else {
      throw text.mismatch(node, "a type: {\"type\": \"int\"}, or a short form like \"int?\"")
    }
    guard let typeNode = text.member("type", of: node), text.isString(typeNode) else {
      throw text.error(.wrongType, at: text.member("type", of: node) ?? node, "a property needs a \"type\", a string")
    }
    let typeName = text.fullString(typeNode)
    if typeName == "linkingObjects" { return nil }
    try text.checkNames(node, "a property", ["type", "objectType", "optional", "indexed"])
    var found: ShortType
    if let collection = Self.collections[typeName] {
      found = ShortType(type: .mixed, collection: collection)
      if let node = text.member("objectType", of: node) {
        found = try element(node)
        found.collection = collection
      } else if collection != .dictionary {
        throw text.error(.wrongType, at: typeNode, "a \(typeName) needs an \"objectType\", the type of its elements")
      }
    } else if typeName == "object" {
      guard let node = text.member("objectType", of: node) else {
        throw text.error(.wrongType, at: typeNode, "an object needs an \"objectType\", the name of its class")
      }
      guard text.isString(node) else { throw text.mismatch(node, "the name of a class") }
      // A class can have any name, even that of a type.
      found = ShortType(type: .link, target: text.fullString(node))
    } else {
      if let node = text.member("objectType", of: node) {
        throw text.error(.wrongType, at: node, "\"objectType\" is for objects and collections; remove it")
      }
      found = try short(typeName, at: typeNode)
    }
    if let node = text.member("optional", of: node), let isOptional = try text.flag("optional", of: self.node) {
      if let said = found.isNullable, said != isOptional {
        throw text.error(.wrongType, at: node, "\"optional\" contradicts the type \(typeName)")
      }
      found.isNullable = isOptional
    }
    return try property(found, index: index())
  }

  private static let collections: [String: CollectionKind] = ["list": .list, "set": .set, "dictionary": .dictionary]
  private static let suffixes: [(String, CollectionKind)] = [("[]", .list), ("<>", .set), ("{}", .dictionary)]
  static let scalars: [ValueType] = [
    .int, .bool, .float, .double, .string, .data, .date, .decimal128, .objectID, .uuid, .mixed,
  ]

  private func index() throws(InputError) -> IndexKind? {
    guard let node = text.member("indexed", of: node) else { return nil }
    switch text.kind(node) {
    case .true: return .general
    case .false: return nil
    default:
      if text.isString(node), text.fullString(node) == "full-text" { return .fullText }
      throw text.mismatch(node, "true, false or \"full-text\"")
    }
  }

  /// Parses the type of elements: `int`, `int?` or the name of a class.
  private func element(_ node: Int) throws(InputError) -> ShortType {
    guard text.isString(node) else { throw text.mismatch(node, "the name of a type or class") }
    let name = text.fullString(node)
    if !Self.suffixes.contains(where: { name.hasSuffix($0.0) }),
      name.dropLast(name.hasSuffix("?") ? 1 : 0).contains(where: Self.isOfForms)
    {
      return ShortType(type: .link, target: name)
    }
    let found = try short(name, at: node)
    if found.collection != nil {
      throw text.error(.wrongType, at: node, "collections of collections are for mixed only")
    }
    return found
  }

  /// True if a character is part of the short-form syntax, so it cannot be part of a class name in a short form.
  private static func isOfForms(_ character: Character) -> Bool { "[]<>{}?".contains(character) }

  private func short(_ typeText: String, at node: Int) throws(InputError) -> ShortType {
    var rest = Substring(typeText)
    var found = ShortType(type: .mixed)
    for (suffix, collection) in Self.suffixes where rest.hasSuffix(suffix) {
      rest = rest.dropLast(2)
      found.collection = collection
      break
    }
    if rest.hasSuffix("?") {
      rest = rest.dropLast()
      found.isNullable = true
    }
    if rest.isEmpty {
      // `{}` alone is a dictionary of Mixed values.
      if found.collection != nil && found.isNullable == nil { return found }
      throw text.error(.wrongType, at: node, "\"\(text.shown(node))\" is not a type")
    }
    if let type = Self.scalars.first(where: { SchemaRenderer.name(of: $0) == rest }) {
      found.type = type
    } else if rest == "list" || rest == "set" || rest == "dictionary" || rest == "object" {
      throw text.error(.wrongType, at: node, "\(rest) needs an \"objectType\"; write {\"type\": \"\(rest)\", ..}")
    } else if rest.contains(where: Self.isOfForms) {
      throw text.error(.wrongType, at: node, "\"\(text.shown(node))\" is not a type; a short form is like \"int?[]\"")
    } else {
      found.type = .link
      found.target = String(rest)
    }
    return found
  }

  private func property(_ found: ShortType, index: IndexKind?) throws(InputError) -> PropertyDescription {
    if let given = PropertyDescription.givenNullability(found.type, found.collection), let said = found.isNullable,
      said != given
    {
      let what = found.type == .mixed ? "mixed values" : found.collection == nil ? "a link" : "links in a collection"
      let rule = given ? "can always be null; leave \"optional\" out" : "cannot be null; leave \"optional\" out"
      throw text.error(.wrongType, at: node, "\(what) \(rule)")
    }
    return PropertyDescription(
      name: name,
      type: found.type,
      collection: found.collection,
      isNullable: found.isNullable ?? false,
      target: found.target,
      index: index
    )
  }
}
