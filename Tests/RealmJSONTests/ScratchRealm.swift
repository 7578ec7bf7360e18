// A realm in memory with one property of each kind, for tests that write.

import RealmPages
import TestSupport
import Testing

@testable import RealmJSON

/// A realm that tests change by texts.
final class ScratchRealm {
  let writer: RealmWriter

  /// A realm with the schema that `make` adds, and no objects.
  init(_ make: (borrowing WriteTransaction) throws -> Void) throws {
    writer = try RealmWriter(memory: MemoryStorage(name: "scratch"))
    let transaction = try writer.begin()
    try make(transaction)
    _ = try transaction.commit()
  }

  /// Classes Person, Dog (no primary key), Cat (a nullable primary key), and the embedded Address and Geo.
  convenience init() throws { try self.init(Self.addClasses) }

  private static func addClasses(_ transaction: borrowing WriteTransaction) throws {
    let geo = try transaction.addTable("class_Geo", kind: .embedded)
    _ = try transaction.addColumn(geo, ColumnSpec("lat", .double))
    _ = try transaction.addColumn(geo, ColumnSpec("lon", .double))
    let address = try transaction.addTable("class_Address", kind: .embedded)
    _ = try transaction.addColumn(address, ColumnSpec("street", .string, isNullable: true))
    _ = try transaction.addColumn(address, ColumnSpec("city", .string, isNullable: true))
    _ = try transaction.addColumn(address, ColumnSpec("geo", .link, target: geo))
    let dog = try transaction.addTable("class_Dog")
    _ = try transaction.addColumn(dog, ColumnSpec("name", .string))
    let cat = try transaction.addTable("class_Cat")
    _ = try transaction.addColumn(cat, ColumnSpec("name", .string, isNullable: true))
    try transaction.setPrimaryKey(cat, transaction.columns(of: cat).first?.key)
    let person = try transaction.addTable("class_Person")
    _ = try transaction.addColumn(person, ColumnSpec("_id", .int))
    try transaction.setPrimaryKey(person, transaction.columns(of: person).first?.key)
    for (name, type) in scalars { _ = try transaction.addColumn(person, ColumnSpec(name, type)) }
    for (name, type) in scalars {
      _ = try transaction.addColumn(person, ColumnSpec(name + "Opt", type, isNullable: true))
    }
    _ = try transaction.addColumn(person, ColumnSpec("any", .mixed))
    _ = try transaction.addColumn(person, ColumnSpec("anys", .mixed, collection: .list))
    _ = try transaction.addColumn(person, ColumnSpec("anySet", .mixed, collection: .set))
    _ = try transaction.addColumn(person, ColumnSpec("anyDict", .mixed, collection: .dictionary))
    _ = try transaction.addColumn(person, ColumnSpec("scores", .int, collection: .list))
    _ = try transaction.addColumn(person, ColumnSpec("labels", .string, collection: .set))
    _ = try transaction.addColumn(person, ColumnSpec("reals", .double, collection: .set))
    _ = try transaction.addColumn(person, ColumnSpec("counts", .int, collection: .dictionary, isNullable: true))
    _ = try transaction.addColumn(person, ColumnSpec("friend", .link, target: person))
    _ = try transaction.addColumn(person, ColumnSpec("friends", .link, collection: .list, target: person))
    _ = try transaction.addColumn(person, ColumnSpec("friendSet", .link, collection: .set, target: person))
    _ = try transaction.addColumn(person, ColumnSpec("dog", .link, target: dog))
    _ = try transaction.addColumn(person, ColumnSpec("cat", .link, target: cat))
    _ = try transaction.addColumn(person, ColumnSpec("cats", .link, collection: .dictionary, target: cat))
    _ = try transaction.addColumn(person, ColumnSpec("address", .link, target: address))
    _ = try transaction.addColumn(person, ColumnSpec("offices", .link, collection: .list, target: address))
    _ = try transaction.addColumn(person, ColumnSpec("byCity", .link, collection: .dictionary, target: address))
  }

  static let scalars: [(String, ValueType)] = [
    ("int", .int), ("bool", .bool), ("string", .string), ("data", .data), ("date", .date), ("float", .float),
    ("double", .double), ("decimal", .decimal128), ("objectId", .objectID), ("uuid", .uuid),
  ]

  func table(_ name: String) throws -> Table {
    try #require(try writer.realm.latest().table(named: "class_" + name))
  }

  /// Writes a text in a separate transaction, which is not committed if the text changes nothing or is refused.
  @discardableResult
  func write(
    _ text: String,
    to target: PatchTarget = .upsert,
    of name: String = "Person",
    mode: WriteMode = .patch,
    missingLinks: MissingLinks = .refuse
  ) throws -> PatchOutcome {
    let key = try table(name).key
    let transaction = try writer.begin()
    let patcher = ObjectPatcher(mode: mode, missingLinks: missingLinks)
    let outcome = try patcher.apply(JSONText(Array(text.utf8)), to: target, of: key, in: transaction)
    if outcome.hasChanged { _ = try transaction.commit() }
    return outcome
  }

  /// The single changes that a text makes to an object, such as `scores[2] put`.
  func changes(_ text: String, to object: ObjKey, of name: String = "Person", mode: WriteMode = .patch) throws
    -> [String]
  {
    let key = try table(name).key
    let transaction = try writer.begin()
    let text = try JSONText(Array(text.utf8)), patcher = ObjectPatcher(mode: mode)
    var plan = ObjectPlan(text, patcher, .refuse)
    let schema = try patcher.schemas.schema(key, transaction)
    try plan.addObject(JSONText.root, schema, object, isNew: false, mode: mode, depth: 0, transaction)
    return plan.steps.map { step in
      let path = step.path.map {
        switch $0 {
        case .index(let index): "[\(index)]"
        case .key(let key): "." + String(decoding: key, as: UTF8.self)
        }
      }
      let change = "\(step.change)".prefix { $0 != "(" }
      return "\(step.column.name)\(path.joined()) \(change)"
    }
  }

  /// The text of an object, in one line.
  func text(_ object: ObjKey, of name: String = "Person", style: JSONStyle = .plain) throws -> String {
    let out = OutputBuffer()
    let renderer = ObjectRenderer(try writer.realm.latest(), style: style)
    #expect(try renderer.render(table(name), object, layout: .compact, into: out))
    return String(out.string.dropLast())
  }

  /// One property of an object as text.
  func value(_ property: String, _ object: ObjKey, of name: String = "Person") throws -> String {
    let text = try JSONText(Array(text(object, of: name).utf8))
    let node = try #require(text.member(property, of: JSONText.root))
    let end = text.members(JSONText.root).first { $0.value > node }.map { Int(text.nodes[$0.name].start) - 1 }
    let range = Int(text.nodes[node].start)..<(end ?? text.bytes.count - 1)
    return String(decoding: text.bytes[range], as: UTF8.self)
  }

  /// The problems of the realm; empty if it is sound.
  func problems() throws -> [Verifier.Problem] { Verifier(try writer.realm.latest(), isStrict: true).problems() }
}

/// The error that a body throws.
func inputError(_ body: () throws -> Void) -> InputError? {
  do {
    try body()
  } catch let error as InputError {
    return error
  } catch {
    Issue.record("an error of another type: \(error)")
  }
  return nil
}
