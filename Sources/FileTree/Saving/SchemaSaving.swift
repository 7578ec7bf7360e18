// What saving `.realm/schema.json` or a file of `.realm/schema` does: the change from the realm's schema to the text's.

import RealmJSON
import RealmNames
import RealmPages

/// The whole schema.
struct SchemaTarget: SaveTarget {
  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs {
    let hasChanged = try tree.saveKeepingTexts(saver, mayWait: false) { transaction throws(FileTreeError) in
      try SchemaSaving.apply(request.bytes, ofClass: nil, transaction)
    }
    return .computed(self, hasChanged: hasChanged)
  }

  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    _ = try SchemaSaving.apply(bytes, ofClass: nil, transaction, isRehearsal: true)
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? {
    let rejected = RejectedText(ordinal: nil, name: Array("schema.json".utf8))
    return ShownPlace(path: ".realm/schema.json", rejected: rejected)
  }
}

/// The schema of one class, by file name.
struct ClassSchemaTarget: SaveTarget {
  let name: [UInt8]

  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs {
    let hasChanged = try tree.saveKeepingTexts(saver, mayWait: false) { transaction throws(FileTreeError) in
      try SchemaSaving.apply(request.bytes, ofClass: name, transaction)
    }
    return .computed(self, hasChanged: hasChanged)
  }

  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    _ = try SchemaSaving.apply(bytes, ofClass: name, transaction, isRehearsal: true)
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? {
    ShownPlace(
      path: ".realm/schema/" + String(decoding: name, as: UTF8.self),
      rejected: RejectedText(ordinal: nil, name: name)
    )
  }
}

private enum SchemaSaving {
  /// Changes the schema to what `bytes` say: the whole, or the class of the file `name`. A rehearsal finds out what is
  /// to be changed and stops there, because converting the objects takes time.
  static func apply(
    _ bytes: [UInt8],
    ofClass name: [UInt8]?,
    _ transaction: borrowing WriteTransaction,
    isRehearsal: Bool = false
  ) throws(FileTreeError) -> Effect {
    let change: SchemaChange
    if let name {
      let wanted = try description { () throws(JSONInputError) in try ClassDescription(JSONText(bytes)) }
      let stem = Array(name.dropLast(NameEscaping.suffix.utf8.count))
      guard NameEscaping.className(ofDirectory: stem).isExactly(wanted.name) else {
        throw .refused(.invalid, "the text is the schema of class \(wanted.name), the file is that of another")
      }
      change = try changing { () throws(SchemaChangeError) in try SchemaChange(toClass: wanted, in: transaction) }
    } else {
      let wanted = try description { () throws(JSONInputError) in try SchemaDescription(JSONText(bytes)) }
      change = try changing { () throws(SchemaChangeError) in try SchemaChange(to: wanted, in: transaction) }
    }
    if change.isEmpty || isRehearsal { return .none }
    try changing { () throws(SchemaChangeError) in try change.apply(transaction) }
    return Effect(touched: nil, replacesSchema: true)
  }

  private static func description<T>(_ body: () throws(JSONInputError) -> T) throws(FileTreeError) -> T {
    do throws(JSONInputError) { return try body() } catch { throw FileTreeError(error) }
  }

  private static func changing<T>(_ body: () throws(SchemaChangeError) -> T) throws(FileTreeError) -> T {
    do throws(SchemaChangeError) { return try body() } catch {
      switch error.reason {
      case .engine(let error): throw FileTreeError(error)
      default: throw .refused(.invalid, error.description)
      }
    }
  }
}
