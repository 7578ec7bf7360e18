// UUIDs of .NET. Before 10.10 the SDK stored a Guid as it is in memory: the first three of its numbers with their
// lowest byte first. Since then it stores UUIDs as all SDKs do, and turns those of a local realm round when it opens
// it; a table says that this was done. Source: docs/format/2-model.md M11.

extension UniqueID {
  /// The UUID with the bytes of its first three numbers in the other order.
  var swapped: UniqueID {
    let first = UInt32(truncatingIfNeeded: high >> 32).byteSwapped
    let second = UInt16(truncatingIfNeeded: high >> 16).byteSwapped
    let third = UInt16(truncatingIfNeeded: high).byteSwapped
    return UniqueID(high: UInt64(first) << 32 | UInt64(second) << 16 | UInt64(third), low: low)
  }

  /// The version of a random UUID stands in byte 6, in one that is stored as .NET did in byte 7.
  fileprivate var isRandom: Bool { high >> 12 & 15 == 4 }
  fileprivate var isRandomSwapped: Bool { high >> 4 & 15 == 4 }
}

extension ValueView {
  /// The value as it is stored, where it shows otherwise.
  func stored(_ arena: Arena) -> ValueView {
    guard arena.swapsGuids, case .uuid(let id) = self else { return self }
    return .uuid(id.swapped)
  }
}

extension Snapshot {
  /// The table that says that UUIDs are stored as in all SDKs.
  private static let guidMark = "dotnet_guid_representation_fixed"

  static func hasGuidMark(_ arena: Arena, _ top: TopArray) throws(EngineError) -> Bool {
    if top.ref == 0 { return false }
    let names = try arena.node(top.namesRef)
    for slot in 0..<names.count where try StringLeaf.short(names, slot)?.string == guidMark { return true }
    return false
  }

  /// True if the UUIDs look as .NET stored them before 10.10: more than half of those that were looked at, and no table
  /// says otherwise.
  ///
  /// Cost: O(1), the first UUIDs of each class are looked at. What cannot be read says nothing.
  public var looksLikeDotNetGuids: Bool {
    do throws(EngineError) {
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
  /// Calls `body` with the UUID that the value is, or with the first ones that a collection has.
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
