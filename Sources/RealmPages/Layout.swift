// The slots of nodes and the bytes of the header, defined once for readers, editors and checks. Source:
// docs/format/1-storage.md S2, S3, S16, docs/format/2-model.md M2, M3, M6, M8, docs/format/6-history.md 6.7.

/// Positions in the structures of a file, in all formats with object keys (10 and later) unless noted otherwise.
enum Layout {
  /// Bytes at the start of a file. Source: docs/format/1-storage.md S2.
  enum Header {
    /// The offset of the top ref of a slot, 0 or 1.
    static func topRef(_ slot: Int) -> Int { 8 * slot }
    static let signature = 16
    /// The offset of the format byte of a slot.
    static func format(_ slot: Int) -> Int { 20 + slot }
    static let reserved = 22
    /// The lowest bit selects a slot.
    static let flags = 23
    static let size = 24
  }

  /// The root of a version. Source: docs/format/1-storage.md S3.
  enum Top {
    static let names = 0, tables = 1, logicalSize = 2, freePositions = 3, freeSizes = 4, freeVersions = 5, version = 6
    static let historyType = 7, history = 8, historySchema = 9, fileIdent = 10, evacuation = 11
    /// The minimum number of slots in a top array.
    static let minimum = 3
  }

  /// The top array of a table. Source: docs/format/2-model.md M2.
  enum Table {
    static let spec = 0, unused = 1, clusters = 2, key = 3, indexes = 4, columnCounter = 5, contentVersion = 6
    static let oppositeTables = 7, oppositeColumns = 8, sequence = 9, collisions = 10, primaryKey = 11, flags = 12
    static let tombstones = 13, count = 14
    /// The minimum number of slots in a table's top array, in all these formats.
    static let minimum = 10
  }

  /// The columns of a table. Source: docs/format/2-model.md M3.
  enum Spec {
    static let types = 0, names = 1, attributes = 2, unused = 3, enumerations = 4, keys = 5, count = 6
  }

  /// A leaf of a cluster tree. Source: docs/format/2-model.md M6.
  enum Cluster {
    /// The number of objects, tagged, or the ref of their keys.
    static let head = 0
    /// The leaf of the column at position 0.
    static let firstColumn = 1
  }

  /// An inner node of a cluster tree. Source: docs/format/2-model.md M6.
  enum InnerCluster {
    /// The ref of the keys at which children begin; 0 if the node is compact.
    static let starts = 0
    static let level = 1, count = 2, firstChild = 3
  }

  /// An inner node of a B+tree; its last slot is the number of elements. Source: docs/format/1-storage.md S16.
  enum InnerTree {
    /// The elements of each child, tagged, or the ref of the positions at which children begin.
    static let head = 0
    static let firstChild = 1
    /// The number of slots that are not children.
    static let others = 2
  }

  /// The root of a dictionary: two B+trees. Source: docs/format/2-model.md M8.
  enum Dictionary {
    static let keys = 0, values = 1, count = 2
  }

  /// The slots that a sync client uses in the history. Source: docs/format/6-history.md 6.7.
  enum SyncHistory {
    static let uploaded = 7, changesets = 13, origins = 16, count = 21
  }
}
