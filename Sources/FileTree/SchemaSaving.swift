// What saving `.realm/schema.json` or a file of `.realm/schema` does.

import RealmJSON
import RealmPages

enum SchemaSaving {
  /// Changes the schema to what `bytes` say.
  static func apply(
    _ bytes: [UInt8],
    ofClass name: [UInt8]?,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> Effect {
    throw .refused(.forbidden, "the schema cannot be changed yet")
  }
}
