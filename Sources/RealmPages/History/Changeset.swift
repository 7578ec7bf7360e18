// The format of a changeset of the in-Realm history. Source: docs/format/6-history.md 6.4, 6.5.

/// Definitions shared by the encoder and the decoder of changesets.
enum Changeset {
  /// The first byte of an instruction.
  enum Code: UInt8 {
    case insertTable = 0x01, eraseTable = 0x02, renameTable = 0x03
    case selectTable = 0x0a, createObject = 0x0b, removeObject = 0x0c, set = 0x0d
    case insertColumn = 0x14, eraseColumn = 0x15, renameColumn = 0x16
    case selectCollection = 0x1e, collectionInsert = 0x1f, collectionSet = 0x20
    case collectionMove = 0x21, collectionErase = 0x23, collectionClear = 0x24
    case typedLinkChange = 0x2b, selectByPath = 0x2d
  }
}
