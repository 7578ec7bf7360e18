// Writes a schema as source text for Realm's SDKs: the model classes that an app would declare. Names that a language
// does not allow are changed, and mapped to the stored names.
import RealmJSON
import RealmPages

/// The formats in which a schema is printed.
enum SchemaForm: String, CaseIterable {
  case json, swift, kotlin, csharp, typescript, dot, mermaid, svg

  /// True if the format shows classes and links instead of declaring them.
  var isDrawing: Bool { self == .dot || self == .mermaid || self == .svg }
}

/// Writes model classes.
struct SchemaSource {
  private let form: SchemaForm
  /// The names of the classes in the target language.
  private let classNames: [ExactName: String]
  private var text = ""

  /// Returns the classes as source code for `form`, which must be a programming language.
  static func text(_ classes: [ClassDescription], _ form: SchemaForm) -> String {
    let names = classes.map(\.name)
    let classNames = zip(names.map { ExactName($0) }, identifiers(names, reserved: types(of: form)))
    var source = SchemaSource(form: form, classNames: Dictionary(classNames) { first, _ in first })
    switch form {
    case .json, .dot, .mermaid, .svg: break
    case .swift: source.text = "import Foundation\nimport RealmSwift\n"
    case .kotlin:
      source.text =
        "import io.realm.kotlin.ext.*\nimport io.realm.kotlin.types.*\nimport io.realm.kotlin.types.annotations.*\n"
        + "import org.mongodb.kbson.BsonObjectId\nimport org.mongodb.kbson.Decimal128\n"
    case .csharp:
      source.text =
        "#nullable enable\nusing System;\nusing System.Collections.Generic;\nusing MongoDB.Bson;\nusing Realms;\n"
    case .typescript: source.text = "import Realm from \"realm\";\n"
    }
    for description in classes {
      source.text += "\n"
      source.add(description)
    }
    return source.text
  }

  private init(form: SchemaForm, classNames: [ExactName: String]) {
    self.form = form
    self.classNames = classNames
  }

  private mutating func add(_ description: ClassDescription) {
    switch form {
    case .json, .dot, .mermaid, .svg: break
    case .swift: addSwift(description)
    case .kotlin: addKotlin(description)
    case .csharp: addCSharp(description)
    case .typescript: addTypeScript(description)
    }
  }

  // MARK: names

  /// Returns distinct names that are valid in all the languages and not `reserved`. Valid names remain unchanged.
  private static func identifiers(_ names: [String], reserved: Set<String> = []) -> [String] {
    var taken = reserved
    var result = names.map { name in
      identifier(name) == name && taken.insert(name).inserted ? name : ""
    }
    for (index, name) in names.enumerated() where result[index].isEmpty {
      var identifier = identifier(name)
      while !taken.insert(identifier).inserted { identifier += "_" }
      result[index] = identifier
    }
    return result
  }

  /// Returns the name of a class in the target language.
  private func className(_ name: String) -> String { classNames[ExactName(name)] ?? Self.identifier(name) }

  /// Returns the properties of a class with their names in the target language.
  private func members(
    _ description: ClassDescription,
    reserved: Set<String> = []
  ) -> [(property: PropertyDescription, identifier: String)] {
    let names = Self.identifiers(description.properties.map(\.name), reserved: reserved)
    return Array(zip(description.properties, names).map { ($0, $1) })
  }

  /// The reserved words of all the languages.
  private static let words = Set(
    """
    abstract Any as associatedtype base bool break byte case catch char checked class const continue decimal default \
    defer deinit delegate do double else enum event explicit extends extension extern false fileprivate finally \
    fixed float for foreach fun func goto guard if implicit import in init inout int interface internal is let lock \
    long namespace new nil null object operator out override package params private protected protocol public \
    readonly ref repeat rethrows return sbyte sealed self Self short sizeof stackalloc static string struct \
    subscript super switch this throw throws true try typealias typeof uint ulong unchecked unsafe ushort using val \
    var virtual void volatile when where while
    """.split(separator: " ").map(String.init)
  )

  /// Returns the names of types that the source code uses, which no class may have.
  private static func types(of form: SchemaForm) -> Set<String> {
    switch form {
    case .swift:
      Set(swiftTypes.values).union(["Object", "EmbeddedObject", "AsymmetricObject", "List", "MutableSet", "Map"])
    case .kotlin:
      Set(kotlinTypes.values.map(\.0)).union([
        "RealmObject", "EmbeddedRealmObject", "AsymmetricRealmObject", "RealmList", "RealmSet", "RealmDictionary",
        "PrimaryKey", "Index", "FullText", "PersistedName",
      ])
    case .csharp:
      Set(csharpTypes.values).union([
        "IRealmObject", "IEmbeddedObject", "IAsymmetricObject", "IList", "ISet", "IDictionary",
      ])
    case .typescript: ["Realm"]
    case .json, .dot, .mermaid, .svg: []
    }
  }

  /// The names of members that Swift objects already have.
  private static let swiftMembers: Set<String> = [
    "description", "debugDescription", "hash", "superclass", "realm", "objectSchema", "isInvalidated", "isFrozen",
  ]

  /// Returns a name that is valid in all the languages.
  private static func identifier(_ name: String) -> String {
    var result = ""
    for character in name.unicodeScalars {
      let isLetter = character.properties.isAlphabetic || character == "_"
      let isDigit = ("0"..."9").contains(character)
      result.unicodeScalars.append(isLetter || isDigit && !result.isEmpty ? character : "_")
    }
    if result.allSatisfy({ $0 == "_" }) { return result + "_0" }
    return words.contains(result) ? result + "_" : result
  }

  /// Returns a string literal. Invisible characters are escaped in the syntax of the target language, because the four
  /// languages have no common syntax for them.
  private func quoted(_ text: String) -> String {
    var result = "\""
    for character in text.unicodeScalars {
      switch character {
      case "\"", "\\": result += "\\\(character)"
      case "$" where form == .kotlin: result += "\\$"
      case _ where OutputBuffer.isControl(character.value):
        let digits = String(character.value, radix: 16)
        result += form == .swift ? "\\u{\(digits)}" : "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(character)
      }
    }
    return result + "\""
  }

  /// Returns the type of a single value in a language, given the language's type names.
  private func type(_ property: PropertyDescription, _ names: [ValueType: String]) -> String {
    property.target.map(className) ?? names[property.type] ?? ""
  }

  // MARK: Swift

  private mutating func addSwift(_ description: ClassDescription) {
    let base = [TableKind.topLevel: "Object", .embedded: "EmbeddedObject", .asymmetric: "AsymmetricObject"]
    let name = className(description.name)
    text += "class \(name): \(base[description.kind] ?? "Object") {\n"
    let members = members(description, reserved: Self.swiftMembers)
    for (property, identifier) in members {
      let isKey = property.name.isExactly(description.primaryKey)
      let index = property.index == nil ? "" : "(indexed: true)"
      let one = type(property, Self.swiftTypes)
      let isOptional = property.isNullable && property.type != .mixed
      let element = one + (isOptional ? "?" : "")
      let type =
        switch property.collection {
        case nil: element
        case .list: "List<\(element)>"
        case .set: "MutableSet<\(element)>"
        case .dictionary: "Map<String, \(element)>"
        }
      text += "    @Persisted\(isKey ? "(primaryKey: true)" : index) var \(identifier): \(type)\n"
    }
    let mapped = members.filter { $0.identifier != $0.property.name }
    if !mapped.isEmpty {
      let pairs = mapped.map { "\(quoted($0.identifier)): \(quoted($0.property.name))" }.joined(separator: ", ")
      text += "\n    override class func propertiesMapping() -> [String: String] { [\(pairs)] }\n"
    }
    if name != description.name {
      text += "\n    override class func _realmObjectName() -> String? { \(quoted(description.name)) }\n"
    }
    text += "}\n"
  }

  private static let swiftTypes: [ValueType: String] = [
    .int: "Int", .bool: "Bool", .string: "String", .data: "Data", .mixed: "AnyRealmValue", .date: "Date",
    .float: "Float", .double: "Double", .decimal128: "Decimal128", .objectID: "ObjectId", .uuid: "UUID",
  ]

  // MARK: Kotlin

  private mutating func addKotlin(_ description: ClassDescription) {
    let base = [
      TableKind.topLevel: "RealmObject", .embedded: "EmbeddedRealmObject", .asymmetric: "AsymmetricRealmObject",
    ]
    let name = className(description.name)
    if name != description.name { text += "@PersistedName(\(quoted(description.name)))\n" }
    text += "class \(name) : \(base[description.kind] ?? "RealmObject") {\n"
    for (property, identifier) in members(description) {
      if property.name.isExactly(description.primaryKey) { text += "    @PrimaryKey\n" }
      if let index = property.index { text += index == .fullText ? "    @FullText\n" : "    @Index\n" }
      if identifier != property.name { text += "    @PersistedName(\(quoted(property.name)))\n" }
      let (one, value) = property.target.map { (className($0), "null") } ?? Self.kotlinTypes[property.type] ?? ("", "")
      let element = one + (property.isNullable ? "?" : "")
      let (type, initial) =
        switch property.collection {
        case nil: (element, property.isNullable ? "null" : value)
        case .list: ("RealmList<\(element)>", "realmListOf()")
        case .set: ("RealmSet<\(element)>", "realmSetOf()")
        case .dictionary: ("RealmDictionary<\(element)>", "realmDictionaryOf()")
        }
      text += "    var \(identifier): \(type) = \(initial)\n"
    }
    text += "}\n"
  }

  private static let kotlinTypes: [ValueType: (String, String)] = [
    .int: ("Long", "0"), .bool: ("Boolean", "false"), .string: ("String", "\"\""),
    .data: ("ByteArray", "byteArrayOf()"), .mixed: ("RealmAny", "null"),
    .date: ("RealmInstant", "RealmInstant.from(0, 0)"), .float: ("Float", "0f"), .double: ("Double", "0.0"),
    .decimal128: ("Decimal128", "Decimal128(\"0\")"), .objectID: ("BsonObjectId", "BsonObjectId()"),
    .uuid: ("RealmUUID", "RealmUUID.random()"),
  ]

  // MARK: C#

  private mutating func addCSharp(_ description: ClassDescription) {
    let base = [TableKind.topLevel: "IRealmObject", .embedded: "IEmbeddedObject", .asymmetric: "IAsymmetricObject"]
    let name = className(description.name)
    if name != description.name { text += "[MapTo(\(quoted(description.name)))]\n" }
    text += "public partial class \(name) : \(base[description.kind] ?? "IRealmObject")\n{\n"
    // A member cannot have the name of its class.
    for (position, (property, identifier)) in members(description, reserved: [name]).enumerated() {
      if position > 0 { text += "\n" }
      if property.name.isExactly(description.primaryKey) { text += "    [PrimaryKey]\n" }
      if let index = property.index { text += "    [Indexed\(index == .fullText ? "(IndexType.FullText)" : "")]\n" }
      if identifier != property.name { text += "    [MapTo(\(quoted(property.name)))]\n" }
      let one = type(property, Self.csharpTypes)
      let element = one + (property.isNullable && property.type != .mixed ? "?" : "")
      let type: String? =
        switch property.collection {
        case nil: nil
        case .list: "IList<\(element)>"
        case .set: "ISet<\(element)>"
        case .dictionary: "IDictionary<string, \(element)>"
        }
      if let type {
        text += "    public \(type) \(identifier) { get; } = null!;\n"
      } else {
        let isReference = property.type == .string || property.type == .data
        text += "    public \(element) \(identifier) { get; set; }"
        text += isReference && !property.isNullable ? " = null!;\n" : "\n"
      }
    }
    text += "}\n"
  }

  private static let csharpTypes: [ValueType: String] = [
    .int: "long", .bool: "bool", .string: "string", .data: "byte[]", .mixed: "RealmValue", .date: "DateTimeOffset",
    .float: "float", .double: "double", .decimal128: "Decimal128", .objectID: "ObjectId", .uuid: "Guid",
  ]

  // MARK: TypeScript

  private mutating func addTypeScript(_ description: ClassDescription) {
    let name = className(description.name)
    text += "export class \(name) extends Realm.Object<\(name)> {\n"
    for property in description.properties {
      let one = property.target.map(className) ?? "Realm.Types.\(Self.typeScriptTypes[property.type] ?? "Mixed")"
      let element =
        one + (property.isNullable && property.collection != nil && property.type != .mixed ? " | null" : "")
      let type =
        switch property.collection {
        case nil: element
        case .list: "Realm.Types.List<\(element)>"
        case .set: "Realm.Types.Set<\(element)>"
        case .dictionary: "Realm.Types.Dictionary<\(element)>"
        }
      let isOptional = property.isNullable && property.collection == nil && property.type != .mixed
      text += "  \(typeScriptName(property.name))\(isOptional ? "?" : "!"): \(type);\n"
    }
    text += "\n  static schema: Realm.ObjectSchema = {\n    name: \(quoted(description.name)),\n"
    if let key = description.primaryKey { text += "    primaryKey: \(quoted(key)),\n" }
    if description.kind == .embedded { text += "    embedded: true,\n" }
    if description.kind == .asymmetric { text += "    asymmetric: true,\n" }
    text += "    properties: {\n"
    for property in description.properties {
      var type = quoted(property.typeText)
      // The short form is unsuitable for names that are not identifiers, or that have another meaning there.
      if let target = property.target, Self.identifier(target) != target || Self.typeNames.contains(target) {
        let kind = Self.collectionNames[property.collection] ?? "object"
        type = "{ type: \(quoted(kind)), objectType: \(quoted(target)) }"
      }
      if let index = property.index {
        type = "{ type: \(type), indexed: \(index == .fullText ? "\"full-text\"" : "true") }"
      }
      text += "      \(typeScriptName(property.name)): \(type),\n"
    }
    text += "    },\n  };\n}\n"
  }

  /// Returns the name of a property, in quotes if it is not an identifier.
  private func typeScriptName(_ name: String) -> String { Self.identifier(name) == name ? name : quoted(name) }

  /// The type names with a fixed meaning in the short form.
  private static let typeNames: Set<String> = [
    "int", "bool", "float", "double", "string", "data", "date", "decimal128", "objectId", "uuid", "mixed", "list",
    "set", "dictionary", "object",
  ]

  private static let collectionNames: [CollectionKind?: String] = [
    .list: "list", .set: "set", .dictionary: "dictionary",
  ]

  private static let typeScriptTypes: [ValueType: String] = [
    .int: "Int", .bool: "Bool", .string: "String", .data: "Data", .mixed: "Mixed", .date: "Date", .float: "Float",
    .double: "Double", .decimal128: "Decimal128", .objectID: "ObjectId", .uuid: "UUID",
  ]
}
