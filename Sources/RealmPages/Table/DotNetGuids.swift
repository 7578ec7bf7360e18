// UUIDs of the .NET SDK. Before 10.10 it stored a Guid as laid out in memory: its first three numbers in little-endian
// order. Later versions store UUIDs as all other SDKs do. When opening a local realm, they convert its UUIDs and add a
// table to record this. Source: docs/format/2-model.md M11.

extension UniqueID {
  /// The UUID with the bytes of its first three numbers reversed.
  var swapped: UniqueID {
    let first = UInt32(truncatingIfNeeded: high >> 32).byteSwapped
    let second = UInt16(truncatingIfNeeded: high >> 16).byteSwapped
    let third = UInt16(truncatingIfNeeded: high).byteSwapped
    return UniqueID(high: UInt64(first) << 32 | UInt64(second) << 16 | UInt64(third), low: low)
  }

  /// The version number 4 of a random UUID is in byte 6, or in byte 7 if stored as .NET did.
  fileprivate var isRandom: Bool { high >> 12 & 15 == 4 }
  fileprivate var isRandomSwapped: Bool { high >> 4 & 15 == 4 }
}

extension ValueView {
  /// Returns the value as stored, which differs from the presented one if the arena swaps UUIDs.
  func stored(_ arena: Arena) -> ValueView {
    guard arena.swapsGuids, case .uuid(let id) = self else { return self }
    return .uuid(id.swapped)
  }
}

extension Snapshot {
  /// The name of the table that marks the UUIDs of a realm as converted to the layout of the other SDKs.
  private static let guidMark = "dotnet_guid_representation_fixed"

  static func hasGuidMark(_ arena: Arena, _ top: TopArray) throws(EngineError) -> Bool {
    if top.ref == 0 { return false }
    let names = try arena.node(top.namesRef)
    for slot in 0..<names.count where try StringLeaf.short(names, slot)?.string == guidMark { return true }
    return false
  }

  /// True if the UUIDs appear to have the .NET layout from before 10.10: more than half of the sampled ones are
  /// swapped, and the file is not marked as converted.
  ///
  /// Cost: O(1), as only the first UUIDs of each class are sampled. Returns false if the file cannot be read.
  public var looksLikeDotNetGuids: Bool {
    do {
      if try Self.hasGuidMark(arena, top) { return false }
      var seen = 0, swapped = 0
      for key in try tableKeys() {
        guard let table = try table(key), table.damage == nil, table.className != nil else { continue }
        let columns = table.columns.indices.filter { [.uuid, .mixed].contains(table.columns[$0].type) }
        if columns.isEmpty { continue }
        let cursor = ObjectCursor(table)
        var rows = 0
        while rows < 1000, try cursor.next() {
          rows += 1
          for index in columns {
            try cursor.value(index).forEachUUID { id in
              seen += id == UniqueID(high: 0, low: 0) ? 0 : 1
              if id.isRandomSwapped && !id.isRandom { swapped += 1 }
            }
          }
        }
      }
      return swapped * 2 > seen
    } catch { return false }
  }
}

extension ValueView {
  /// Calls `body` with the value if it is a UUID, or with the UUIDs among the first 100 elements of a collection.
  fileprivate func forEachUUID(_ body: (UniqueID) -> Void) throws(EngineError) {
    switch self {
    case .uuid(let id): body(id)
    case .list(var list), .set(var list):
      for i in 0..<min(list.count, 100) { if case .uuid(let id) = try list.value(at: i) { body(id) } }
    case .dictionary(var dictionary):
      for i in 0..<min(dictionary.count, 100) { if case .uuid(let id) = try dictionary.value(at: i) { body(id) } }
    default: break
    }
  }
}
