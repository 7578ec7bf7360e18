// What a scan asks of one property, leaf by leaf: most objects are passed over without making a value of them.

/// A test of the values of one property.
package enum ColumnTest {
  /// Integers in a range, or all others.
  case ints(ClosedRange<Int64>, isInverted: Bool)
  /// Doubles in a range, or all others, null and what is not a number among them.
  case doubles(ClosedRange<Double>, isInverted: Bool)
  /// Any other question.
  case values((ValueView) -> Bool)

  /// The first of the given rows that passes; nil if none does.
  func first(_ rows: Range<Int>, of leaf: ColumnLeaf, _ arena: Arena) throws(FormatError) -> Int? {
    switch (self, leaf) {
    case (.ints(let range, let isInverted), .ints(let node)):
      return try node.first(rows, in: range, isInverted: isInverted)
    case (.doubles(let range, let isInverted), .doubles(let leaf)):
      return try leaf.first(rows, in: range, isInverted: isInverted)
    default:
      for row in rows where try passes(leaf.value(row, arena)) { return row }
      return nil
    }
  }

  /// Whether a value passes.
  func passes(_ value: ValueView) -> Bool {
    switch self {
    case .ints(let range, let isInverted):
      if case .int(let number) = value { range.contains(number) != isInverted } else { isInverted }
    case .doubles(let range, let isInverted):
      if case .double(let number) = value { range.contains(number) != isInverted } else { isInverted }
    case .values(let test): test(value)
    }
  }
}

extension Node {
  /// The first of the given elements that is in `range`, or that is not. The width is asked for once.
  fileprivate func first(
    _ elements: Range<Int>,
    in range: ClosedRange<Int64>,
    isInverted: Bool
  ) throws(FormatError) -> Int? {
    if let last = elements.last { _ = try int(last) }
    switch width {
    case 8: return first(Int8.self, elements, range, isInverted)
    case 16: return first(Int16.self, elements, range, isInverted)
    case 32: return first(Int32.self, elements, range, isInverted)
    case 64: return first(Int64.self, elements, range, isInverted)
    default:
      for i in elements where range.contains(PackedBits.signed(payload, width, i)) != isInverted { return i }
      return nil
    }
  }

  @inline(__always)
  private func first<T: FixedWidthInteger>(
    _ type: T.Type,
    _ elements: Range<Int>,
    _ range: ClosedRange<Int64>,
    _ isInverted: Bool
  ) -> Int? {
    let low = range.lowerBound, high = range.upperBound
    for i in elements {
      let element = payload.loadUnaligned(fromByteOffset: i * MemoryLayout<T>.size, as: T.self)
      let number = Int64(T(littleEndian: element))
      if (number >= low && number <= high) != isInverted { return i }
    }
    return nil
  }
}

extension FloatingLeaf {
  /// The first of the given doubles that is in `range`, or that is not. Null is not a number, so in no range.
  fileprivate func first(
    _ elements: Range<Int>,
    in range: ClosedRange<Double>,
    isInverted: Bool
  ) throws(FormatError) -> Int? {
    let low = range.lowerBound, high = range.upperBound
    for i in elements {
      let number = try raw(i)
      if (number >= low && number <= high) != isInverted { return i }
    }
    return nil
  }
}
