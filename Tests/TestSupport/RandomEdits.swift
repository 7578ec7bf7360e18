// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Random edits of a tree of object files, as programs make them, together with a model of the expected tree: saves,
// creations, deletions, renames over objects, additions to the schema, and texts that must be rejected. The same seed
// gives the same edits.

import Foundation

/// The operations that edits require of a tree, either the library's or a mounted one. Paths are relative, such as
/// `Person/4.json`.
public protocol EditedTree {
  func names(in directory: String) throws -> [String]
  func text(of path: String) throws -> [UInt8]
  /// Writes a complete file, new or existing, and closes it.
  func save(_ bytes: [UInt8], to path: String) throws
  func rename(_ path: String, to other: String) throws
  func remove(_ path: String) throws
  func makeDirectory(_ path: String) throws
  func removeDirectory(_ path: String) throws
}

/// A series of edits of one tree.
public struct RandomEdits {
  public struct Settings: Sendable {
    /// True if classes and properties are added.
    public var addsToSchema = true
    /// The approximate maximum number of objects in a class.
    public var objects = 300
    /// True if links may occur in collections within collections.
    public var hasDeepLinks = true

    public init() {}
  }

  public private(set) var model: TreeModel
  /// The number of edits made, and of texts rejected as expected.
  public private(set) var edits = 0
  public private(set) var refusals = 0
  /// A description of the last edit.
  public private(set) var lastEdit = "none"

  private let tree: any EditedTree
  private let settings: Settings
  private var values: RandomValues
  private var names = 0
  private let seed: UInt64
  /// Paths of deleted objects: recreating one immediately afterwards undoes its deletion.
  private var deleted: Set<String> = []
  /// Files that an edit may have changed since the last comparison.
  private var touched: Set<Path> = []

  private struct Path: Hashable {
    let index: Int
    let file: FileName
  }

  /// Prepares edits of `tree`, whose current state is assumed to be correct.
  public init(_ tree: any EditedTree, seed: UInt64, _ settings: Settings = Settings()) throws {
    self.tree = tree
    self.seed = seed
    self.settings = settings
    values = RandomValues(seed: seed, hasDeepLinks: settings.hasDeepLinks)
    model = TreeModel(schema: try JSONTree(tree.text(of: Self.schemaPath)))
    for index in model.classes.indices where !model.classes[index].isEmbedded {
      for file in try files(of: index) {
        try model.add(file, to: index, text: tree.text(of: path(file, of: index)))
      }
    }
  }

  private static let schemaPath = ".realm/schema.json"

  /// Makes `count` edits and compares the files that they touched, and some of the others.
  public mutating func run(_ count: Int) throws {
    do {
      for _ in 0..<count {
        try step()
        edits += 1
        if ProcessInfo.processInfo.environment["EDIT_LOG"] != nil { print("edit \(edits): \(lastEdit)") }
      }
      for path in touched.sorted(by: { ($0.index, $0.file) < ($1.index, $1.file) }) { try compare(path) }
      touched = []
      for _ in 0..<5 {
        guard let index = values.any(editable), let file = values.anyFile(model, index) else { continue }
        try compare(Path(index: index, file: file))
      }
    } catch {
      throw TreeModel.Disagreement("seed \(seed), edit \(edits) (\(lastEdit)): \(error)")
    }
  }

  /// Compares the whole tree with the model.
  public func compareAll() throws {
    do {
      for index in model.classes.indices where !model.classes[index].isEmbedded {
        let found = try files(of: index), known = model.classes[index].objects
        if let extra = found.first(where: { known[$0] == nil }) { throw TreeModel.Disagreement("\(extra) is listed") }
        if found.count != known.count {
          throw TreeModel.Disagreement("\(model.classes[index].name): \(found.count) files, not \(known.count)")
        }
        for file in found { try compare(Path(index: index, file: file)) }
      }
      try compareSchema()
    } catch {
      throw TreeModel.Disagreement("seed \(seed), after edit \(edits) (\(lastEdit)): \(error)")
    }
  }

  private func compareSchema() throws {
    let found = TreeModel(schema: try JSONTree(tree.text(of: Self.schemaPath)))
    let (shown, wanted) = (found.classes.map(Self.outline), model.classes.map(Self.outline))
    if let difference = zip(shown, wanted).first(where: { $0 != $1 }) {
      throw TreeModel.Disagreement("the schema has \(difference.0) instead of \(difference.1)")
    }
    if shown.count != wanted.count { throw TreeModel.Disagreement("\(shown.count) classes, not \(wanted.count)") }
  }

  private static func outline(_ known: TreeModel.Class) -> String {
    let properties = known.properties.map { property in
      let index = property.index.map { String(decoding: $0.printed(pretty: false), as: UTF8.self) } ?? ""
      return "\(property.name): \(property.collection ?? "") \(property.type) \(property.target ?? "")"
        + " \(property.isOptional) \(index)"
    }
    return "\(known.name) \(known.primaryKey ?? "") \(known.isEmbedded) \(properties)"
  }

  private func compare(_ path: Path) throws {
    let name = self.path(path.file, of: path.index)
    guard model.classes[path.index].objects[path.file] != nil else {
      if (try? tree.text(of: name)) != nil { throw TreeModel.Disagreement("\(name) is still there") }
      return
    }
    if let difference = try model.difference(tree.text(of: name), path.file, of: path.index) {
      throw TreeModel.Disagreement("\(name): \(difference)")
    }
  }

  // MARK: names

  /// Class and property names with other characters are covered by other tests.
  private func directory(of index: Int) -> String { Self.escaped(model.classes[index].name) }

  private func path(_ file: FileName, of index: Int) -> String { "\(directory(of: index))/\(file)" }

  private func files(of index: Int) throws -> [FileName] {
    try tree.names(in: directory(of: index)).filter { $0.hasSuffix(".json") }.map(FileName.init)
  }

  /// A key as a file name without its extension. Source: docs/SEMANTICS.md.
  static func escaped(_ key: String) -> String {
    if key.isEmpty { return "%empty" }
    var name = ""
    let scalars = Array(key.unicodeScalars)
    for (i, scalar) in scalars.enumerated() {
      let isPlain = scalar.value >= 0x20 && scalar.value != 0x7f && scalar != "/" && scalar != "%"
      let isEdge = i == 0 || i == scalars.count - 1 || scalars[i - 1] == "."
      if isPlain && !(isEdge && scalar == ".") {
        name.unicodeScalars.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        name += "%" + (digits.count < 2 ? "0" : "") + digits
      }
    }
    return name
  }

  /// The classes whose objects can be edited.
  private var editable: [Int] {
    model.classes.indices.filter { !model.classes[$0].isEmbedded && !model.classes[$0].isReadOnly }
  }

  private mutating func newName(_ stem: String) -> String {
    names += 1
    return "\(stem)\(seed % 1_000_000)x\(names)"
  }

  // MARK: edits

  private mutating func step() throws {
    if settings.addsToSchema && values.chance(12) {
      switch values.below(4) {
      case 0: return try addClass()
      case 1: return try changeIndex()
      default: return try addProperty()
      }
    }
    switch values.below(36) {
    case 0...2: try refused()
    case 3...7: try delete()
    case 8...16: try create()
    case 17: try saveUnchanged()
    default: try save()
    }
  }

  /// Returns a text for some properties, and the values that the object must then show.
  private mutating func text(
    _ index: Int,
    atMost count: Int
  ) -> (written: [JSONTree.Member], shown: [String: JSONTree]) {
    let known = model.classes[index]
    var written: [JSONTree.Member] = [], shown: [String: JSONTree] = [:]
    for _ in 0..<1 + values.below(count) {
      guard let property = values.any(known.properties), property.name != known.primaryKey,
        shown[property.name] == nil, let pair = values.value(property, model)
      else { continue }
      written.append(.init(property.name, pair.written))
      shown[property.name] = pair.shown
    }
    return (written, shown)
  }

  private mutating func anyObject() -> (index: Int, file: FileName)? {
    let candidates = editable.filter { !model.classes[$0].objects.isEmpty }
    guard let index = values.any(candidates), let file = values.anyFile(model, index) else { return nil }
    return (index, file)
  }

  /// Changes some properties of an object in one of the ways in which programs save files.
  private mutating func save() throws {
    guard let (index, file) = anyObject() else { return try create() }
    let path = path(file, of: index)
    var (written, shown) = text(index, atMost: 4)
    if values.chance(4), let object = model.object(file, of: index) {
      // The complete object, as in an editor.
      written = object.members.map { member in written.first { $0.name == member.name } ?? member }
    }
    lastEdit = "save \(path): \(shown.keys.sorted())"
    let bytes = JSONTree.object(written).printed(pretty: values.chance(2))
    let isLong = file.description.utf8.count > 240
    let scratchNames = isLong ? ["sed\(names)"] : [".\(file).swp", "sed\(names)", "\(file)~", "#\(file)#"]
    let scratch = "\(directory(of: index))/\(scratchNames[values.below(scratchNames.count)])"
    switch values.below(4) {
    case 0:
      lastEdit += " by renaming \(scratch)"
      try tree.save(bytes, to: scratch)
      try tree.rename(scratch, to: path)
    case 1:
      lastEdit += " with \(scratch) as a backup"
      try tree.rename(path, to: scratch)
      try tree.save(bytes, to: path)
      try tree.remove(scratch)
    default: try tree.save(bytes, to: path)
    }
    model.patch(file, of: index, shown)
    touched.insert(Path(index: index, file: file))
  }

  /// Saves an equal text, which must not cause a commit.
  private mutating func saveUnchanged() throws {
    guard let (index, file) = anyObject() else { return }
    let path = path(file, of: index)
    lastEdit = "save \(path) unchanged"
    let before = try tree.text(of: ".realm/version")
    try tree.save(tree.text(of: path), to: path)
    if try tree.text(of: ".realm/version") != before { throw TreeModel.Disagreement("there is a new version") }
    touched.insert(Path(index: index, file: file))
  }

  private mutating func create() throws {
    guard let index = values.any(editable) else { return try addClass() }
    let known = model.classes[index]
    if known.objects.count >= settings.objects { return try delete() }
    guard let (file, key) = try newObject(index) else { return }
    let path = path(file, of: index)
    if deleted.contains(path) || Self.awaited.contains(path) { return }
    var (written, shown) = text(index, atMost: 6)
    if let name = known.primaryKey, let key {
      shown[name] = key
      if values.chance(3) { written.insert(.init(name, key), at: 0) }
    }
    lastEdit = "create \(path): \(shown.keys.sorted())"
    let bytes = JSONTree.object(written).printed(pretty: values.chance(2))
    if values.chance(4) {
      let scratch = directory(of: index) + "/." + newName("tmp")
      try tree.save(bytes, to: scratch)
      try tree.rename(scratch, to: path)
    } else {
      try tree.save(bytes, to: path)
    }
    model.classes[index].objects[file] = model.newObject(index, shown)
    touched.insert(Path(index: index, file: file))
  }

  /// An object that hidden links of fixtures wait for: creating it changes other objects, which the model does not
  /// know.
  private static let awaited: Set = ["Target/7.json"]

  /// Returns an unused file name and the corresponding primary key.
  private mutating func newObject(_ index: Int) throws -> (file: FileName, key: JSONTree?)? {
    let known = model.classes[index]
    var key: JSONTree?, stem: String
    if let name = known.primaryKey, let property = known.properties.first(where: { $0.name == name }) {
      if property.isOptional && values.chance(10) {
        (key, stem) = (.null, "%null")
      } else {
        let shown = values.scalar(property.type).shown
        key = shown
        switch shown {
        case .number(let number): stem = number
        case .object: stem = shown["$numberLong"]?.string ?? ""
        case .string(let bytes): stem = Self.escaped(String(decoding: bytes, as: UTF8.self))
        default: return nil
        }
      }
    } else {
      stem = String(values.below(4) == 0 ? values.integer() & ((1 << 53) - 1) : Int64(values.below(100_000)))
    }
    let file = FileName(stem + ".json")
    // Longer keys have a file name that contains only their beginning.
    if known.objects[file] != nil || file.description.utf8.count > 255 { return nil }
    return (file, key)
  }

  private mutating func delete() throws {
    guard let (index, file) = anyObject() else { return }
    let path = path(file, of: index)
    lastEdit = "delete \(path)"
    try tree.remove(path)
    model.remove(file, of: index)
    deleted.insert(path)
    touched.insert(Path(index: index, file: file))
    // Links to it disappear from other objects.
    for (other, known) in model.classes.enumerated() where !known.isEmbedded && known.objects.count < 100 {
      touched.formUnion(known.objects.keys.map { Path(index: other, file: $0) })
    }
  }

  // MARK: schema

  private mutating func addClass() throws {
    let name = newName("Class")
    if values.chance(2) {
      lastEdit = "mkdir \(name)"
      try tree.makeDirectory(name)
      if values.chance(3) {
        try tree.removeDirectory(name)
        return
      }
    } else {
      lastEdit = "add class \(name)"
      let type = ["int", "string", "objectId", "uuid"][values.below(4)]
      var key: [JSONTree.Member] = [.init("type", .text(type))]
      if values.chance(2) { key.append(.init("optional", .bool(true))) }
      var properties: [JSONTree.Member] = [.init("_id", .object(key))]
      for _ in 0..<values.below(6) { properties.append(newProperty()) }
      let added: JSONTree = .members([
        "name": .text(name), "primaryKey": .text("_id"), "properties": .object(properties),
      ])
      try changeSchema { $0 + [added] }
    }
    try reloadSchema()
  }

  private mutating func addProperty() throws {
    let candidates = model.classes.indices.filter { !model.classes[$0].isReadOnly }
    guard let index = values.any(candidates), model.classes[index].properties.count < 120 else { return }
    let name = model.classes[index].name, property = newProperty()
    lastEdit = "add \(String(decoding: property.name, as: UTF8.self)) to \(name)"
    try changeClass(index) { properties in properties.append(property) }
    try reloadSchema()
  }

  /// Adds or removes the search index of a property.
  private mutating func changeIndex() throws {
    guard let index = values.any(editable) else { return }
    let known = model.classes[index]
    let candidates = known.properties.filter { property in
      property.name != known.primaryKey && property.collection == nil
        && ["int", "bool", "string", "date", "objectId", "uuid", "mixed"].contains(property.type)
    }
    guard let property = values.any(candidates) else { return }
    let kind: JSONTree? =
      property.index != nil ? nil : property.type == "string" && values.chance(2) ? .text("full-text") : .bool(true)
    lastEdit = "index \(known.name).\(property.name): \(kind.map { "\($0)" } ?? "none")"
    try changeClass(index) { properties in
      properties = properties.map { member in
        guard member.name.elementsEqual(property.name.utf8) else { return member }
        let rest = member.value.members.filter { !$0.name.elementsEqual("indexed".utf8) }
        return .init(member.name, .object(rest + (kind.map { [.init("indexed", $0)] } ?? [])))
      }
    }
    try reloadSchema()
  }

  private mutating func newProperty() -> JSONTree.Member {
    let scalar = TreeModel.Property.scalars[values.below(TreeModel.Property.scalars.count)]
    let target = values.chance(4) ? values.any(editable).map { model.classes[$0].name } : nil
    let isOptional = values.chance(2)
    var facts: [JSONTree.Member]
    if values.chance(3) {
      let collection = ["list", "set", "dictionary"][values.below(3)]
      facts = [.init("type", .text(collection)), .init("objectType", .text(target ?? scalar))]
      if target == nil ? isOptional && scalar != "mixed" : collection == "dictionary" {
        facts.append(.init("optional", .bool(true)))
      }
      if target == nil && scalar == "mixed" { facts.append(.init("optional", .bool(true))) }
    } else if let target {
      facts = [.init("type", .text("object")), .init("objectType", .text(target)), .init("optional", .bool(true))]
    } else {
      facts = [.init("type", .text(scalar))]
      if isOptional || scalar == "mixed" { facts.append(.init("optional", .bool(true))) }
      let canHaveIndex = ["int", "bool", "string", "date", "objectId", "uuid", "mixed"].contains(scalar)
      if canHaveIndex && values.chance(3) { facts.append(.init("indexed", .bool(true))) }
    }
    return .init(newName("p"), .object(facts))
  }

  private func changeSchema(_ body: ([JSONTree]) -> [JSONTree]) throws {
    let schema = try JSONTree(tree.text(of: Self.schemaPath))
    let changed = schema.members.map { member -> JSONTree.Member in
      guard member.name.elementsEqual("schema".utf8) else { return member }
      return .init(member.name, .array(body(member.value.elements)))
    }
    try tree.save(JSONTree.object(changed).printed(pretty: true), to: Self.schemaPath)
  }

  /// Changes the properties of one class, through the file of the whole schema or that of the class.
  private mutating func changeClass(_ index: Int, _ body: (inout [JSONTree.Member]) -> Void) throws {
    func changed(_ facts: JSONTree) -> JSONTree {
      .object(
        facts.members.map { member in
          guard member.name.elementsEqual("properties".utf8) else { return member }
          var properties = member.value.members
          body(&properties)
          return .init(member.name, .object(properties))
        }
      )
    }
    let name = model.classes[index].name
    if values.chance(2) {
      let path = ".realm/schema/\(Self.escaped(name)).json"
      try tree.save(changed(JSONTree(tree.text(of: path))).printed(pretty: true), to: path)
    } else {
      try changeSchema { classes in classes.map { $0["name"] == .text(name) ? changed($0) : $0 } }
    }
  }

  /// Reads the schema from the tree after an edit that it must show: new properties have their defaults.
  private mutating func reloadSchema() throws {
    let former = model
    model = TreeModel(schema: try JSONTree(tree.text(of: Self.schemaPath)))
    for known in former.classes {
      guard let index = model.index(of: known.name) else { throw TreeModel.Disagreement("\(known.name) is gone") }
      let properties = model.classes[index].properties
      if !properties.map(\.name).starts(with: known.properties.map(\.name)) {
        throw TreeModel.Disagreement("\(known.name) has lost properties")
      }
      let added = properties.dropFirst(known.properties.count).map(\.defaultValue)
      model.classes[index].objects = known.objects.mapValues { $0 + added }
      if known.isEmbedded && !added.isEmpty { grown.insert(known.name) }
    }
    if !grown.isEmpty { try growEmbedded() }
    touched = Set(
      touched.map { Path(index: model.index(of: former.classes[$0.index].name) ?? $0.index, file: $0.file) }
    )
  }

  /// Embedded classes to which a property was added.
  private var grown: Set<String> = []

  /// Adds the defaults of new properties to embedded objects.
  private mutating func growEmbedded() throws {
    for index in model.classes.indices where !model.classes[index].isEmbedded {
      for (file, values) in model.classes[index].objects {
        let properties = model.classes[index].properties
        model.classes[index].objects[file] = zip(properties, values).map { model.completed($1, $0) }
      }
    }
    grown = []
  }

  // MARK: refusals

  /// Writes a text that must be rejected and must change nothing.
  private mutating func refused() throws {
    guard let (index, file) = anyObject() else { return }
    let path = path(file, of: index), known = model.classes[index]
    var text = "{\"no such property\": 1}"
    switch values.below(6) {
    case 0: text = "{\"\(known.properties.first?.name ?? "x")\": "
    case 1: text = "[1]"
    case 2:
      guard let property = known.properties.first(where: { $0.type == "int" && $0.collection == nil }) else { break }
      text = JSONTree.object([.init(property.name, .text("not a number"))]).text
    case 3:
      guard let property = known.properties.first(where: { $0.collection == "list" }) else { break }
      text = JSONTree.object([.init(property.name, .number("17"))]).text
    case 4:
      let mustBe = known.properties.first { property in
        property.collection == nil && !property.isOptional && !["object", "mixed"].contains(property.type)
          && property.name != known.primaryKey
      }
      guard let property = mustBe else { break }
      text = JSONTree.object([.init(property.name, .null)]).text
    default: break
    }
    lastEdit = "refuse \(text) for \(path)"
    do { try tree.save(Array(text.utf8), to: path) } catch {
      refusals += 1
      touched.insert(Path(index: index, file: file))
      return
    }
    throw TreeModel.Disagreement("it was not refused")
  }
}

extension JSONTree {
  /// The value on one line.
  fileprivate var text: String { String(decoding: printed(pretty: false), as: UTF8.self) }
}
