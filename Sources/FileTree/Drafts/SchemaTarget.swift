// Drafts of `.realm/schema.json` and of the files of `.realm/schema`. Saving a text changes the schema of the realm to
// the one in the text.

import RealmJSON
import RealmNames
import RealmPages

/// The schema in the file `.realm/schema/NAME`, or the complete schema.
struct SchemaTarget: TextTarget {
  /// Nil for the complete schema.
  var name: [UInt8]?

  var mayWait: Bool { false }

  func apply(_ save: TextApplication, to transaction: borrowing WriteTransaction) throws(FileTreeError) -> Applied {
    let change = try change(save.text.bytes, transaction)
    // Converting the objects takes time, so a check stops here.
    if change.isEmpty || save.text.isCheck { return Applied(effect: .none, place: .computed(self)) }
    try Self.changing { () throws(SchemaChangeError) in try change.apply(transaction) }
    return Applied(effect: Effect(touched: nil, replacesSchema: true), place: .computed(self))
  }

  private func change(
    _ bytes: [UInt8],
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> SchemaChange {
    guard let name else {
      let wanted = try Self.description { () throws(InputError) in try SchemaDescription(JSONText(bytes)) }
      return try Self.changing { () throws(SchemaChangeError) in try SchemaChange(to: wanted, in: transaction) }
    }
    let wanted = try Self.description { () throws(InputError) in try ClassDescription(JSONText(bytes)) }
    let stem = Array(name.dropLast(NameEscaping.suffix.utf8.count))
    guard NameEscaping.className(ofDirectory: stem).isExactly(wanted.name) else {
      throw .refused(.invalid, "the text is the schema of class \(wanted.name), the file is for another class")
    }
    return try Self.changing { () throws(SchemaChangeError) in try SchemaChange(toClass: wanted, in: transaction) }
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? {
    ShownPlace(
      path: ".realm/schema" + (name.map { "/" + String(decoding: $0, as: UTF8.self) } ?? ".json"),
      rejected: RejectedText(ordinal: nil, name: name ?? Array("schema.json".utf8))
    )
  }

  private static func description<T>(_ body: () throws(InputError) -> T) throws(FileTreeError) -> T {
    do { return try body() } catch { throw FileTreeError(error) }
  }

  private static func changing<T>(_ body: () throws(SchemaChangeError) -> T) throws(FileTreeError) -> T {
    do { return try body() } catch {
      switch error.reason {
      case .engine(let error): throw FileTreeError(error)
      default: throw .refused(.invalid, error.description)
      }
    }
  }
}
