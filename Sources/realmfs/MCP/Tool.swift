// The tools of `realmfs mcp`, as values: their descriptions for the model, their arguments, and their calls.
import RealmJSON
import RealmPages
import RealmQuery
import RealmTransfer

/// A tool that an agent can call.
struct Tool: Sendable {
  let name: String
  /// The text from which a model learns when and how to use the tool.
  let description: String
  let arguments: [ToolArgument]
  /// True if the tool changes the realm.
  var isEdit = false
  /// Runs a call and returns the text of the answer.
  let run: @Sendable (ToolCall) throws -> OutputBuffer

  /// The entry of `tools/list`.
  func json(_ files: [ServedFile]) -> JSONValue {
    let file = ToolArgument.file(files)
    let all = [file] + arguments
    return .object([
      ("name", .string(name)), ("description", .string(description)),
      (
        "inputSchema",
        .object([
          ("type", .string("object")), ("properties", .object(all.map { ($0.name, $0.json) })),
          ("required", .array(all.filter(\.isRequired).map { .string($0.name) })),
          ("additionalProperties", .bool(false)),
        ])
      ), ("annotations", .object([("readOnlyHint", .bool(!isEdit)), ("openWorldHint", .bool(false))])),
    ])
  }
}

/// An argument of a tool.
struct ToolArgument: Sendable {
  enum Kind: Sendable {
    case string
    case oneOf([String])
    case integer(ClosedRange<Int>)
    case boolean
    case object
    /// An array of objects.
    case objects
    /// An array of strings, numbers and booleans.
    case scalars
  }

  let name: String
  let kind: Kind
  var isRequired = false
  let help: String

  init(_ name: String, _ kind: Kind, isRequired: Bool = false, _ help: String) {
    (self.name, self.kind, self.isRequired, self.help) = (name, kind, isRequired, help)
  }

  static func file(_ files: [ServedFile]) -> ToolArgument {
    ToolArgument("file", .oneOf(files.map(\.name)), isRequired: files.count > 1, "The Realm file")
  }

  /// The JSON Schema of the argument.
  var json: JSONValue {
    let type: [(String, JSONValue)] =
      switch kind {
      case .string: [("type", .string("string"))]
      case .oneOf(let words): [("type", .string("string")), ("enum", .array(words.map { .string($0) }))]
      case .integer(let range):
        [("type", .string("integer")), ("minimum", .number(range.lowerBound))]
          + (range.upperBound == .max ? [] : [("maximum", .number(range.upperBound))])
      case .boolean: [("type", .string("boolean"))]
      case .object: [("type", .string("object"))]
      case .objects: [("type", .string("array")), ("items", .object([("type", .string("object"))]))]
      case .scalars:
        [
          ("type", .string("array")),
          (
            "items",
            .object([("type", .array(["string", "number", "boolean", "null"].map { .string($0) }))])
          ),
        ]
      }
    return .object(type + [("description", .string(help))])
  }

  /// The maximum size of a text in bytes. Queries are not made for longer ones.
  private static let textLimit = 1 << 16

  /// Returns the kind of value that is expected; nil if `value` has it.
  func mismatch(_ value: JSONNode) -> String? {
    switch kind {
    case .string:
      value.string.map { $0.utf8.count <= Self.textLimit } == true
        ? nil : "a string of at most \(Self.textLimit) bytes"
    case .oneOf(let words):
      value.string.map { word in words.contains { $0.isExactly(word) } } == true
        ? nil : "one of " + words.joined(separator: ", ")
    case .integer(let range):
      value.integer.map { range.contains($0) } == true
        ? nil
        : "a whole number from \(range.lowerBound)" + (range.upperBound == .max ? "" : " to \(range.upperBound)")
    case .boolean: value.bool == nil ? "true or false" : nil
    case .object: value.isObject ? nil : "an object"
    case .objects: value.elements?.allSatisfy(\.isObject) == true ? nil : "an array of objects"
    case .scalars:
      value.elements?.allSatisfy { $0.scalar.map { $0.utf8.count <= Self.textLimit } ?? false } == true
        ? nil : "an array of strings of at most \(Self.textLimit) bytes, or of numbers"
    }
  }
}

/// A call of a tool, whose arguments have the expected types.
struct ToolCall {
  let tool: Tool
  let files: [ServedFile]
  let file: ServedFile
  /// The arguments of the command.
  let command: Arguments
  private let values: JSONNode?

  /// Checks the arguments of a call.
  init(
    _ tool: Tool,
    _ values: JSONNode?,
    _ files: [ServedFile],
    _ command: Arguments
  ) throws(MessageError) {
    (self.tool, self.values, self.files, self.command) = (tool, values, files, command)
    let arguments = [ToolArgument.file(files)] + tool.arguments
    if let values, !values.isObject { throw .parameters("the arguments of \(tool.name) are not an object") }
    if let other = values?.names.first(where: { name in !arguments.contains { $0.name.isExactly(name) } }) {
      throw .parameters(
        "\(tool.name): \(other): no such argument; \(KnownNames(arguments.map(\.name)).hint(for: other))"
      )
    }
    for argument in arguments {
      guard let value = values?[argument.name], !value.isNull else {
        if argument.isRequired { throw .parameters("\(tool.name): the argument \(argument.name) is missing") }
        continue
      }
      if let expected = argument.mismatch(value) {
        throw .parameters("\(tool.name): \(argument.name): expected \(expected)")
      }
    }
    let name = values?["file"]?.string
    file = files.first { file in name.map { file.name.isExactly($0) } ?? true } ?? files[0]
  }

  subscript(name: String) -> String? { values?[name]?.string }

  func number(_ name: String) -> Int? { values?[name]?.integer }

  func flag(_ name: String) -> Bool { values?[name]?.bool ?? false }

  /// Returns the JSON of an array or object; nil if it is missing.
  func bytes(_ name: String) -> [UInt8]? { values?[name].flatMap { $0.isNull ? nil : $0.bytes } }

  /// Returns the texts of an array; empty if it is missing.
  func texts(_ name: String) -> [String] { values?[name]?.elements?.compactMap(\.scalar) ?? [] }

  /// The argument `query` with its values `args`; nil if it is missing.
  var condition: QueryCondition? { self["query"].map { .given($0, texts: texts("args")) } }

  /// Returns the objects that the arguments name.
  func names(_ texts: [String]) throws -> [ObjectName] {
    try texts.map { text in
      if let name = ObjectName(text) { return name }
      throw CommandFailure(.usage, "'\(text)' is not an object; write CLASS/NAME")
    }
  }

  /// Runs `body` on the version that the call names, or on the newest one.
  func onVersion<R>(_ body: (Snapshot) throws -> R) throws -> R {
    let source: RealmSource
    if let version = number("version") {
      source = try RealmSource.former(file.configuration, version: "\(version)")
    } else {
      source = try RealmSource.pinned(file.configuration)
    }
    return try source.onNewest(body)
  }
}
