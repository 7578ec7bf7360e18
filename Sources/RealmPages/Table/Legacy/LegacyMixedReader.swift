// Mixed values of formats 2 to 9: a tree of types beside a tree of values. A value is a 63-bit number, the ref of a
// subtable, or a position in one of two more trees, for bytes and for timestamps. Source: v5.23.9 column_mixed.hpp.

/// Reads a Mixed column of formats 2 to 9 row by row. Not thread-safe.
final class LegacyMixedReader {
  private let arena: Arena
  private let ref: Int
  let types: ElementReader
  private let data: ElementReader
  private let bytes: ElementReader?
  private let seconds: ElementReader?
  private let nanoseconds: ElementReader?

  /// The type codes. Where a number needs all 64 bits, the type contains its sign.
  enum Code {
    static let int: Int64 = 0, bool: Int64 = 1, string: Int64 = 2, data: Int64 = 4, table: Int64 = 5, oldDate: Int64 = 7
    static let date: Int64 = 8, float: Int64 = 9, double: Int64 = 10, negativeDouble: Int64 = 11
    static let negativeInt: Int64 = 12
  }

  /// Opens the column at `ref`.
  init(_ arena: Arena, _ ref: Int) throws(EngineError) {
    let root = try arena.refs(ref, slots: 2)
    let bytes = try root.childIfPresent(2), dates = try root.childIfPresent(3)
    let times = dates == 0 ? nil : try arena.refs(dates, slots: 2)
    self.arena = arena
    self.ref = ref
    types = try ElementReader(arena, root.child(0), LegacyReader.int)
    data = try ElementReader(arena, root.child(1), LegacyReader.int)
    self.bytes = bytes == 0 ? nil : try ElementReader(arena, bytes, ElementType(.data, isNullable: true))
    var seconds: ElementReader?, nanoseconds: ElementReader?
    if let times {
      seconds = try ElementReader(arena, times.child(0), LegacyReader.nullableInt)
      nanoseconds = try ElementReader(arena, times.child(1), LegacyReader.int)
    }
    (self.seconds, self.nanoseconds) = (seconds, nanoseconds)
    if data.count != types.count {
      throw .damaged("\(types.count) types for \(data.count) Mixed values", ref: ref)
    }
  }

  func value(_ row: Int) throws(EngineError) -> ValueView {
    guard case .int(let type) = try types.value(at: row), case .int(let stored) = try data.value(at: row) else {
      return .null
    }
    let bits = UInt64(bitPattern: stored) >> 1, sign: UInt64 = 1 << 63, place = Int(bits)
    switch type {
    case Code.int: return .int(Int64(bits))
    case Code.negativeInt: return .int(Int64(bitPattern: bits | sign))
    case Code.bool: return .bool(bits != 0)
    case Code.float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case Code.double: return .double(Double(bitPattern: bits))
    case Code.negativeDouble: return .double(Double(bitPattern: bits | sign))
    // The 63 bits of a date include its sign.
    case Code.oldDate: return .date(Timestamp(seconds: stored >> 1, nanoseconds: 0))
    case Code.data:
      guard case .data(let view) = try payload(bytes, place) else { return .data(.empty) }
      return .data(view)
    case Code.string:
      guard case .data(let view) = try payload(bytes, place), view.count > 0 else {
        throw .damaged("a string without its final zero in a Mixed value", ref: ref)
      }
      return .string(view.extracting(0..<view.count - 1))
    case Code.date:
      guard case .int(let seconds) = try payload(seconds, place),
        case .int(let nanoseconds) = try payload(nanoseconds, place)
      else { return .null }
      return .date(try Timestamp(checked: seconds, nanoseconds, ref: ref))
    case Code.table:
      let table = try LegacyReader.ref(stored)
      if table == 0 { return .list(.empty) }
      let top = try arena.refs(table, slots: 2)
      return .list(try ListView(subtable: arena, LegacySpec(arena, top.child(0)), rootsRef: top.child(1)))
    default: throw .damaged("a Mixed value of the unknown type \(type)", ref: ref)
    }
  }

  private func payload(_ reader: ElementReader?, _ place: Int) throws(EngineError) -> ValueView {
    guard let reader else { throw .damaged("a Mixed value without its payload", ref: ref) }
    return try reader.value(at: place)
  }
}
