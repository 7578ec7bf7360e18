// Objects of formats 2 to 9: columns of equal length side by side, where the row number serves as object key. Source:
// format/2-model.md M14, "Format 2..9".

/// The rows of one table. The same for every reader; what remembers positions is a `LegacyReader`.
struct LegacyRows: Sendable {
  let columns: [LegacyColumn]
  let count: Int

  /// Reads the table whose top array is `top`.
  init(_ arena: Arena, tableTop top: Node) throws(FormatError) {
    let spec = try LegacySpec(arena, tableTop: top)
    columns = spec.columns
    guard let (ref, isNullableInt, kind, type) = spec.counter else {
      count = 0
      return
    }
    count = try LegacyReader.rowCount(arena, ref, kind, type, isNullableInt: isNullableInt)
  }

  /// The name of the property that table `pk` declares as the primary key of class `className`; nil if there is none.
  static func primaryKeyName(_ pkTable: Table?, of className: String?) throws(FormatError) -> String? {
    if let damage = pkTable?.damage { throw damage }
    guard let pkTable, let className,
      let table = pkTable.columns.firstIndex(where: { $0.name == "pk_table" }),
      let property = pkTable.columns.firstIndex(where: { $0.name == "pk_property" })
    else { return nil }
    let cursor = ObjectCursor(pkTable)
    while try cursor.next() {
      guard case .string(let name) = try cursor.value(table), name.string == className,
        case .string(let key) = try cursor.value(property)
      else { continue }
      return key.string
    }
    return nil
  }
}

/// Reads one column row by row. Remembers the leaf it read last. One thread at a time.
final class LegacyReader {
  private let column: LegacyColumn
  /// The values; for timestamps the seconds, for enumerated strings the indexes, for lists the refs.
  private let values: ElementReader
  /// Nanoseconds, or the distinct strings.
  private let second: ElementReader?

  init(_ arena: Arena, _ column: LegacyColumn) throws(FormatError) {
    self.column = column
    let nullableInt = ElementType(.int, isNullable: true), int = ElementType(.int, isNullable: false)
    switch column.kind {
    case .plain:
      // Nullable bools are nullable integers.
      let isNullableBool = column.column.type == .bool && column.column.isNullable
      values = try ElementReader(arena, column.ref, isNullableBool ? nullableInt : column.column.element)
      second = nil
    case .enumerated(let valuesRef):
      values = try ElementReader(arena, column.ref, int)
      second = try ElementReader(arena, valuesRef, .string)
    case .timestamp:
      let root = try arena.refs(column.ref, slots: 2)
      values = try ElementReader(arena, root.child(0), nullableInt)
      second = try ElementReader(arena, root.child(1), int)
    case .oldDate:
      values = try ElementReader(arena, column.ref, ElementType(.int, isNullable: column.column.isNullable))
      second = nil
    case .link, .linkList, .subtable:
      values = try ElementReader(arena, column.ref, int)
      second = nil
    case .oldMixed:
      throw FormatError("a Mixed column of a format before 10, which is not read", ref: column.ref)
    }
  }

  /// The number of rows that a column's tree has.
  static func rowCount(
    _ arena: Arena,
    _ ref: Int,
    _ kind: LegacyKind,
    _ type: ValueType,
    isNullableInt: Bool
  ) throws(FormatError) -> Int {
    switch kind {
    case .timestamp:
      return try ElementReader(
        arena,
        arena.refs(ref, slots: 2).child(0),
        ElementType(.int, isNullable: true)
      ).count
    case .plain where type != .bool && type != .int:
      return try ElementReader(arena, ref, ElementType(type, isNullable: false)).count
    default: return try ElementReader(arena, ref, ElementType(.int, isNullable: isNullableInt)).count
    }
  }

  func value(_ row: Int, _ arena: Arena) throws(FormatError) -> ValueView {
    let stored = try values.value(at: row)
    switch (column.kind, stored) {
    case (.plain, .int(let value)) where column.column.type == .bool: return .bool(value != 0)
    case (.plain, .null) where !column.column.isNullable:
      // Before strings could be null, a leaf of empty ones looked like a leaf of nulls does today.
      return column.column.type == .string ? .string(.empty) : column.column.type == .data ? .data(.empty) : .null
    case (.plain, _), (_, .null): return stored
    case (.enumerated, .int(let index)): return try second?.value(at: Int(truncatingIfNeeded: index)) ?? .null
    case (.timestamp, .int(let seconds)):
      guard case .int(let nanoseconds)? = try second?.value(at: row) else { return .null }
      return .date(try Timestamp(checked: seconds, nanoseconds, ref: column.ref))
    case (.oldDate, .int(let seconds)): return .date(Timestamp(seconds: seconds, nanoseconds: 0))
    case (.link, .int(let value)):
      return value == 0 ? .null : .link(column.column.targetTable ?? .none, ObjKey(value &- 1))
    case (.linkList, .int(let ref)):
      return .list(try ListView(arena, Self.ref(ref), column.column.element))
    case (.subtable, .int(let ref)):
      let root = ref == 0 ? 0 : try arena.refs(Self.ref(ref), slots: 1).child(0)
      return .list(try ListView(arena, root, column.column.element))
    default: throw FormatError("a value of an unexpected kind in row \(row)", ref: column.ref)
    }
  }

  private static func ref(_ value: Int64) throws(FormatError) -> Int {
    if value & 1 != 0 { throw FormatError("a row that holds the number \(value) where a ref belongs") }
    return Int(truncatingIfNeeded: value)
  }
}
