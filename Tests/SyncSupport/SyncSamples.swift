// Changesets of another client, for the history of a server.

import RealmPages
@testable import RealmSync

/// The parts of a realm on a server.
package enum SyncSamples {
  /// A changeset that creates class P, and one for each object.
  package static func changesets(_ count: Int) -> [[UInt8]] { [schema] + (0..<count).map { object($0) } }

  /// The class P: the primary key `_id`, a number `i`, a text `s`.
  package static var schema: [UInt8] {
    var first = ChangesetWriter()
    let p = first.name("P"), id = first.name("_id"), i = first.name("i"), s = first.name("s")
    let key = Instruction.PrimaryKeyForm(name: id, type: .int, isNullable: false)
    first.append(.addTable(p, .topLevel(primaryKey: key, isAsymmetric: false)))
    for (name, type) in [(i, ValueType.int), (s, .string)] {
      first.append(.addColumn(p, .init(name: name, type: type, collection: nil, isNullable: false, target: nil)))
    }
    return first.bytes
  }

  /// An object of class P, or a change to it.
  package static func object(_ number: Int, text: String? = nil) -> [UInt8] {
    var writer = ChangesetWriter()
    let p = writer.name("P"), i = writer.name("i"), s = writer.name("s"), key = InstructionKey.int(Int64(number))
    writer.append(.createObject(p, key))
    writer.append(
      .edit(.init(table: p, key: key, field: i), .update(.scalar(.int(Int64(number))), isDefault: false))
    )
    let text = Array((text ?? String(repeating: "text \(number) ", count: 20)).utf8)
    writer.append(.edit(.init(table: p, key: key, field: s), .update(.scalar(.string(text)), isDefault: false)))
    return writer.bytes
  }
}
