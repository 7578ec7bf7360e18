// A test that a scan applies to one property, leaf by leaf. Most objects are rejected without creating their values.

/// A test of the values of one property.
package enum ColumnTest {
  /// Integers in a range, or all others.
  case ints(ClosedRange<Int64>, isInverted: Bool)
  /// Doubles in a range, or all others, including null and NaN.
  case doubles(ClosedRange<Double>, isInverted: Bool)
  /// A test that fails for every string that does not contain these bytes. `with` is not empty.
  case texts(with: [UInt8], (ValueView) -> Bool)
  /// Any other test.
  case values((ValueView) -> Bool)

  /// Returns the first of the given rows that passes; nil if none does.
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

  /// Calls `body` with each of the given rows that passes.
  @inline(__always)
  func forEach(
    _ rows: Range<Int>,
    of leaf: ColumnLeaf,
    _ arena: Arena,
    _ body: (Int) throws(EngineError) -> Void
  ) throws(EngineError) {
    if case .ints(let range, let isInverted) = self, case .ints(let node) = leaf {
      return try node.forEach(rows, in: range, isInverted: isInverted, body)
    }
    var rows = rows
    while let row = try first(rows, of: leaf, arena) {
      try body(row)
      rows = row + 1..<rows.upperBound
    }
  }

  /// Returns the number of the given rows that pass.
  func count(_ rows: Range<Int>, of leaf: ColumnLeaf, _ arena: Arena) throws(EngineError) -> Int {
    if case .ints(let range, let isInverted) = self, case .ints(let node) = leaf {
      let inside = try node.count(rows, in: range)
      return isInverted ? rows.count - inside : inside
    }
    var count = 0
    try forEach(rows, of: leaf, arena) { _ in count += 1 }
    return count
  }

  /// Returns true if the value passes.
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
  /// Calls `body` with each of the given elements that is in `range` (or is not, if `isInverted`). Reads the width
  /// once.
  @inline(__always)
  func forEach(
    _ elements: Range<Int>,
    in range: ClosedRange<Int64>,
    isInverted: Bool,
    _ body: (Int) throws(EngineError) -> Void
  ) throws(EngineError) {
    guard let last = elements.last else { return }
    _ = try int(last)
    for element in elements where unsafe range.contains(PackedBits.signed(payload, width, element)) != isInverted {
      try body(element)
    }
  }

  /// Returns the number of the given elements that are in `range`. Vectorized for widths of 8 to 64 bits.
  func count(_ elements: Range<Int>, in range: ClosedRange<Int64>) throws(EngineError) -> Int {
    guard let last = elements.last else { return 0 }
    _ = try int(last)
    func count<T: FixedWidthInteger & SignedInteger>(_: T.Type) -> Int {
      let low = max(range.lowerBound, Int64(T.min)), high = min(range.upperBound, Int64(T.max))
      if low > high { return 0 }
      // One comparison each: for a value below `low`, the unsigned difference wraps around to a large number.
      let start = T(low), length = T.Magnitude(truncatingIfNeeded: high &- low)
      var count = 0
      for element in elements {
        let value = unsafe payload.loadUnaligned(fromByteOffset: element &* MemoryLayout<T>.size, as: T.self)
        count &+= T.Magnitude(truncatingIfNeeded: T(littleEndian: value) &- start) <= length ? 1 : 0
      }
      return count
    }
    switch width {
    case 8: return count(Int8.self)
    case 16: return count(Int16.self)
    case 32: return count(Int32.self)
    case 64: return count(Int64.self)
    default:
      return elements.reduce(0) { unsafe range.contains(PackedBits.signed(payload, width, $1)) ? $0 + 1 : $0 }
    }
  }

  /// Returns the first of the given elements that is in `range` (or is not, if `isInverted`). Reads the width once.
  func first(
    _ elements: Range<Int>,
    in range: ClosedRange<Int64>,
    isInverted: Bool
  ) throws(EngineError) -> Int? {
    guard let last = elements.last else { return nil }
    _ = try int(last)
    func first<T: FixedWidthInteger>(_: T.Type) -> Int? {
      elements.first {
        let element = unsafe payload.loadUnaligned(fromByteOffset: $0 * MemoryLayout<T>.size, as: T.self)
        return range.contains(Int64(T(littleEndian: element))) != isInverted
      }
    }
    switch width {
    case 8: return first(Int8.self)
    case 16: return first(Int16.self)
    case 32: return first(Int32.self)
    case 64: return first(Int64.self)
    default: return elements.first { unsafe range.contains(PackedBits.signed(payload, width, $0)) != isInverted }
    }
  }
}
