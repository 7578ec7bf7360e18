// Creates objects from texts: with the key that the file name contains, and with default values for properties that the
// text omits.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

extension Saves {
  /// Creates the object of the file `name` from its text. The object gets the key `formerKey`, that of a removed object
  /// of this name, if the key is free.
  func create(
    _ text: JSONText,
    _ name: [UInt8],
    in table: Table,
    formerKey: ObjKey?,
    mode: WriteMode,
    missingLinks: MissingLinks,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> PatchOutcome {
    let target: PatchTarget
    switch NameEscaping.parse(file: name, primaryKey: table.primaryKey?.type) {
    case .key(let key): target = .named(Value(key), preferring: formerKey)
    case .hashed: target = .named(try key(in: text, named: name, table), preferring: formerKey)
    case .objectKey(let key): target = .keyed(key)
    case nil: target = .new(preferring: formerKey)
    }
    do {
      return try ObjectPatcher(mode: mode, missingLinks: missingLinks)
        .apply(text, to: target, of: table.key, in: transaction)
    } catch {
      throw FileTreeError(error, missingLinks)
    }
  }

  /// Returns the primary key in the text, for a name that contains only its beginning.
  private func key(in text: JSONText, named name: [UInt8], _ table: Table) throws(FileTreeError) -> Value {
    guard let column = table.primaryKey else { throw .refused(.invalid, "the class has no primary key") }
    let value: Value?
    do { value = try text.primaryKey(of: column) } catch {
      throw FileTreeError(error)
    }
    guard let value, case .string(let text) = value,
      Array(NameEscaping.file(of: PrimaryKey.string(text)).utf8) == name
    else {
      throw .refused(.invalid, "the file name is shortened, so the text must contain the primary key")
    }
    return value
  }

  /// Reports the properties that have default values in a new object because its text omits them, each property once.
  func reportDefaults(_ columns: [ColKey], of key: ObjKey, in ordinal: TableOrdinal, _ path: String) {
    for column in columns {
      let place = FieldPlace(ordinal, key, column)
      guard tree.drafts.defaultedProperties.isNew(ordinal, column) else { continue }
      do throws(FileTreeError) {
        let (name, text) = try read { view throws(FileTreeError) in
          let columns = try view.existing(ordinal).table.columns
          guard let property = columns.first(where: { $0.key == column }) else { throw .stale }
          return (property.name, try place.text(.value, view))
        }
        let value = String(decoding: text.dropLast(), as: UTF8.self)
        let reason =
          "\(name) is required and missing from the text, so it is \(value); "
          + "this is reported once for each property"
        tree.drafts.refusals.remark(path, "create", reason)
        options.log?("\(path): \(reason)")
      } catch {
        // Another program has removed the object or the property since.
      }
    }
  }
}

/// The properties whose defaults were reported.
final class DefaultedProperties: Sendable {
  private struct Property: Hashable {
    let ordinal: TableOrdinal
    let column: ColKey
  }

  private let reported = Mutex<Set<Property>>([])

  /// Returns true the first time it is called for a property.
  func isNew(_ ordinal: TableOrdinal, _ column: ColKey) -> Bool {
    reported.withLock { $0.insert(Property(ordinal: ordinal, column: column)).inserted }
  }
}
