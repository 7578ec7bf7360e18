// Creates objects from texts: with the key that the file name contains, and with defaults for properties that the text
// does not name.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// An object that is to be created.
struct NewObject: Sendable {
  let text: JSONText
  let name: [UInt8]
  let table: Table
  /// The key of the object of that name that a program removed to make room for this one.
  let formerKey: ObjKey?
  let mode: WriteMode
  let missingLinks: MissingLinks

  /// Creates the object with the key in its name, and returns the key.
  func create(in transaction: borrowing WriteTransaction) throws(FileTreeError) -> ObjKey {
    let fileName = NameEscaping.parse(file: name, primaryKey: table.primaryKey?.type)
    let primaryKey: Value?
    switch fileName {
    case .key(let key):
      primaryKey = Value(key)
      try check(Value(key))
    case .hashed: primaryKey = try keyInText()
    case .objectKey, nil: primaryKey = nil
    }
    let key: ObjKey
    do throws(EngineError) {
      if let primaryKey {
        key = try transaction.create(table.key, primaryKey: primaryKey, key: free(formerKey, transaction))
      } else if case .objectKey(let wanted) = fileName {
        key = try transaction.create(table.key, key: wanted)
      } else {
        key = try transaction.create(table.key, key: free(formerKey, transaction))
      }
    } catch {
      throw FileTreeError(error)
    }
    do throws(JSONInputError) {
      _ = try ObjectPatcher(mode: mode, missingLinks: missingLinks)
        .apply(text, to: .object(key), of: table.key, in: transaction)
    } catch {
      throw FileTreeError(error, missingLinks)
    }
    return key
  }

  /// The required properties that the text does not name. A new object has their defaults.
  var defaulted: [ColKey] {
    table.columns.filter { $0.isRequired && $0.key != table.primaryKey?.key && !text.hasMember($0.name) }.map(\.key)
  }

  /// Throws if the text has another primary key than the name.
  private func check(_ key: Value) throws(FileTreeError) {
    guard let column = table.primaryKey else { return }
    do throws(JSONInputError) { try text.checkPrimaryKey(of: column, is: key) } catch { throw FileTreeError(error) }
  }

  /// Returns the former key if it is free, otherwise nil.
  private func free(
    _ key: ObjKey?,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> ObjKey? {
    guard let key else { return nil }
    let table = try transaction.table(table.key)
    // A key that cannot be looked up counts as taken.
    do throws(EngineError) { return try table.contains(key) ? nil : key } catch { return nil }
  }

  /// Returns the primary key in the text, for a name that has only its beginning.
  private func keyInText() throws(FileTreeError) -> Value {
    guard let column = table.primaryKey else { throw .refused(.invalid, "the class has no primary key") }
    let value: Value?
    do throws(JSONInputError) { value = try text.primaryKey(of: column) } catch {
      throw FileTreeError(error)
    }
    guard let value, case .string(let text) = value,
      Array(NameEscaping.file(of: PrimaryKey.string(text)).utf8) == name
    else {
      throw .refused(.invalid, "the file name is shortened, so the text must contain the primary key")
    }
    return value
  }
}

extension Saves {
  /// Reports the properties whose defaults a new object has because its text does not name them, each property once.
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
