// Tables as values, which formats 2 to 9 supported, presented as lists. If a table has a single column of plain values,
// the elements are these values: SDKs stored lists this way. Otherwise the elements are dictionaries by column name.

/// The rows of a subtable.
final class LegacySubtable {
  let arena: Arena
  private let rows: LegacyRows
  private let readers: [LegacyReader]
  /// True if an element is the value of the only column.
  private let isPlain: Bool
  /// The columns in name order, with their names made valid as dictionary keys of current formats.
  private let names: [(column: Int, name: HeldValue)]

  /// The subtable whose array of roots is at `rootsRef`. Cost: O(columns).
  init(_ arena: Arena, _ spec: LegacySpec, rootsRef: Int) throws(EngineError) {
    self.arena = arena
    rows = try LegacyRows(arena, spec, rootsRef: rootsRef)
    var readers: [LegacyReader] = []
    for column in spec.columns { readers.append(try LegacyReader(arena, column, rootsRef: rootsRef)) }
    self.readers = readers
    isPlain = spec.onlyColumn != nil
    names = isPlain ? [] : Self.names(spec)
  }

  var count: Int { rows.count }
  var columnCount: Int { readers.count }
  /// The number of entries of each row.
  var width: Int { names.count }

  /// Returns the row at `index`: a plain value or a dictionary.
  func element(_ index: Int) throws(EngineError) -> ValueView {
    if index < 0 || index >= count { throw .damaged("a subtable of \(count) rows has no row \(index)") }
    return isPlain ? try readers[0].value(index) : .dictionary(DictionaryView(row: index, of: self))
  }

  func key(_ entry: Int) -> ByteView {
    if case .string(let name) = names[entry].name.view { name } else { .empty }
  }

  func value(_ row: Int, _ entry: Int) throws(EngineError) -> ValueView { try readers[names[entry].column].value(row) }

  /// Returns the names as dictionary keys, which must not contain a dot or start with a dollar sign. Source:
  /// docs/format/2-model.md M8.
  private static func names(_ spec: LegacySpec) -> [(column: Int, name: HeldValue)] {
    var names: [(column: Int, bytes: [UInt8])] = []
    for (index, column) in spec.columns.enumerated() {
      var bytes = column.column.name.utf8.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "_") : $0 }
      if bytes.first == UInt8(ascii: "$") { bytes[0] = UInt8(ascii: "_") }
      while names.contains(where: { $0.bytes == bytes }) { bytes.append(UInt8(ascii: "_")) }
      names.append((index, bytes))
    }
    names.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    return names.map { ($0.column, HeldValue(.string($0.bytes))) }
  }
}
