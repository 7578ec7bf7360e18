// One column of formats 2 to 9, of any type. Source: docs/format/2-model.md M14, "Format 2..9".

/// Reads one column row by row. Remembers the leaf it read last. Not thread-safe.
final class LegacyReader {
  private let arena: Arena
  private let column: LegacyColumn
  /// The root of the column.
  private let ref: Int
  /// The values; for timestamps the seconds, for enumerated strings the indexes, for lists the refs.
  private let values: ElementReader
  /// Nanoseconds, or the distinct strings.
  private let second: ElementReader?
  private let mixed: LegacyMixedReader?

  static let int = ElementType(.int, isNullable: false)
  static let nullableInt = ElementType(.int, isNullable: true)

  /// A reader of the column in the table whose array of roots is at `rootsRef`.
  init(_ arena: Arena, _ column: LegacyColumn, rootsRef: Int) throws(EngineError) {
    let ref = try arena.refs(rootsRef).child(column.root)
    self.arena = arena
    self.column = column
    self.ref = ref
    var second: ElementReader?, mixed: LegacyMixedReader?
    switch column.kind {
    case .plain:
      // Nullable bools are nullable integers.
      let isNullableBool = column.column.type == .bool && column.column.isNullable
      values = try ElementReader(arena, ref, isNullableBool ? Self.nullableInt : column.column.element)
    case .enumerated(let valuesRef):
      values = try ElementReader(arena, ref, Self.int)
      second = try ElementReader(arena, valuesRef, .string)
    case .timestamp:
      let root = try arena.refs(ref, slots: 2)
      values = try ElementReader(arena, root.child(0), Self.nullableInt)
      second = try ElementReader(arena, root.child(1), Self.int)
    case .oldDate:
      values = try ElementReader(arena, ref, column.column.isNullable ? Self.nullableInt : Self.int)
    case .link, .linkList, .subtable:
      values = try ElementReader(arena, ref, Self.int)
    case .oldMixed:
      let reader = try LegacyMixedReader(arena, ref)
      values = reader.types
      mixed = reader
    }
    self.second = second
    self.mixed = mixed
  }

  /// The number of rows.
  var count: Int { values.count }

  /// The number of rows up to the last one that the tree reaches.
  var reachableCount: Int {
    func isReachable(_ row: Int) -> Bool { (try? values.value(at: row)) != nil }  // only success or failure matters
    return count == 0 || isReachable(count - 1) ? count : bisect(count, isReachable)
  }

  func value(_ row: Int) throws(EngineError) -> ValueView {
    if let mixed { return try mixed.value(row) }
    let stored = try values.value(at: row)
    switch (column.kind, stored) {
    case (.plain, .int(let value)) where column.column.type == .bool: return .bool(value != 0)
    case (.plain, .null): return orEmpty
    case (.plain, _), (_, .null): return stored
    case (.enumerated, .int(let index)):
      guard let value = try second?.value(at: Int(truncatingIfNeeded: index)) else { return .null }
      if case .null = value { return orEmpty }
      return value
    case (.timestamp, .int(let seconds)):
      guard case .int(let nanoseconds)? = try second?.value(at: row) else { return .null }
      return .date(try Timestamp(checked: seconds, nanoseconds, ref: ref))
    case (.oldDate, .int(let seconds)): return .date(Timestamp(seconds: seconds, nanoseconds: 0))
    case (.link, .int(let value)):
      return value == 0 ? .null : .link(column.column.targetTable ?? .none, ObjKey(value &- 1))
    case (.linkList, .int(let stored)):
      return .list(try ListView(arena, Self.ref(stored), column.column.element))
    case (.subtable(let spec), .int(let stored)):
      return .list(try ListView(subtable: arena, spec, rootsRef: Self.ref(stored)))
    default: throw .damaged("a value of an unexpected kind in row \(row)", ref: ref)
    }
  }

  /// The value presented for null. Before strings could be null, a leaf of empty strings was stored as a leaf of nulls
  /// is now.
  private var orEmpty: ValueView {
    if column.column.isNullable { return .null }
    return column.column.type == .string ? .string(.empty) : column.column.type == .data ? .data(.empty) : .null
  }

  /// Returns a stored value as a ref, or 0. Throws if it is a number.
  static func ref(_ value: Int64) throws(EngineError) -> Int {
    if value & 1 != 0 { throw .damaged("a row that holds the number \(value) where a ref belongs") }
    return Int(truncatingIfNeeded: value)
  }
}
