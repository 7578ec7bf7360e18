// The names of deleted objects.

import RealmJSON
public import RealmPages

extension DeletedObject {
  /// The name that the file of the object had in a mount, in UTF-8; nil if a later commit has overwritten it.
  public var fileName: [UInt8]? {
    let cursor = ObjectCursor(table), out = OutputBuffer()
    do {
      guard try cursor.seek(key) else { return nil }
      try NameEscaping.append(fileOf: cursor, column: table.primaryKeyIndex, to: out)
      return out.bytes
    } catch {
      // A key that cannot be read was overwritten.
      return nil
    }
  }
}
