// What a scan asks of one property, leaf by leaf: most objects are passed over without making a value of them.

/// A test of the values of one property.
package enum ColumnTest {
  /// Integers in a range, or all others.
  case ints(ClosedRange<Int64>, isInverted: Bool)
  /// Doubles in a range, or all others, null and what is not a number among them.
  case doubles(ClosedRange<Double>, isInverted: Bool)
  /// A question whose answer is no for all texts without these bytes, of which there is at least one.
  case texts(with: [UInt8], (ValueView) -> Bool)
  /// Any other question.
  case values((ValueView) -> Bool)

  /// The first of the given rows that passes; nil if none does.
  func first(_ rows: Range<Int>, of leaf: ColumnLeaf, _ arena: Arena) throws(EngineError) -> Int? {
    switch (self, leaf) {
    case (.ints(let range, let isInverted), .ints(let node)):
      return try node.first(rows, in: range, isInverted: isInverted)
    case (.doubles(let range, let isInverted), .doubles(let leaf)):
      // Null is stored as a NaN, which is in no range.
      for row in rows where try range.contains(leaf.raw(row)) != isInverted { return row }
    case (.texts(let part, let test), .strings(let strings)):
      var rows = rows
      while let row = try strings.first(rows, near: part) {
        if try test(leaf.value(row, arena)) { return row }
        rows = row + 1..<rows.upperBound
      }
    default:
      for row in rows where try passes(leaf.value(row, arena)) { return row }
    }
    return nil
  }

  /// Whether a value passes.
  func passes(_ value: ValueView) -> Bool {
    switch self {
    case .ints(let range, let isInverted):
      if case .int(let number) = value { range.contains(number) != isInverted } else { isInverted }
    case .doubles(let range, let isInverted):
      if case .double(let number) = value { range.contains(number) != isInverted } else { isInverted }
    case .texts(_, let test), .values(let test): test(value)
    }
  }
}

extension Node {
  /// The first of the given elements that is in `range`, or that is not. The width is asked for once.
  func first(
    _ elements: Range<Int>,
    in range: ClosedRange<Int64>,
    isInverted: Bool
  ) throws(EngineError) -> Int? {
    guard let last = elements.last else { return nil }
    _ = try int(last)
    func first<T: FixedWidthInteger>(_: T.Type) -> Int? {
      elements.first {
        let element = payload.loadUnaligned(fromByteOffset: $0 * MemoryLayout<T>.size, as: T.self)
        return range.contains(Int64(T(littleEndian: element))) != isInverted
      }
    }
    switch width {
    case 8: return first(Int8.self)
    case 16: return first(Int16.self)
    case 32: return first(Int32.self)
    case 64: return first(Int64.self)
    default: return elements.first { range.contains(PackedBits.signed(payload, width, $0)) != isInverted }
    }
  }
}
