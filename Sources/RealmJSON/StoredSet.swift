// Matches the elements of a stored set with new values, to find which stay and which change.

import RealmPages

/// The stored elements of a set that are not claimed yet.
struct StoredSet {
  /// The identity of an element: elements with the same text are equal.
  private enum Key: Hashable {
    case value(Value)
    case float(UInt32)
    case double(UInt64)
    case date(Int128)
    case nanFloat, nanDouble, nanDecimal(isNegative: Bool)

    init(_ value: Value, showsExpected: Bool) {
      switch value {
      case .float(let number): self = number.isNaN ? .nanFloat : .float(number.bitPattern)
      case .double(let number): self = number.isNaN ? .nanDouble : .double(number.bitPattern)
      case .date(let date): self = .date(date.moment)
      // A link to an object that does not exist yet shows as null.
      case .link(_, let key) where key.value < 0 && !(showsExpected && key.isExpected): self = .value(.null)
      case .decimal128(let number):
        if case .nan = number.parts {
          self = .nanDecimal(isNegative: number.high >> 63 != 0)
        } else {
          self = .value(value)
        }
      default: self = .value(value)
      }
    }
  }

  /// True if links to different objects that a branch expects are different elements.
  private let showsExpected: Bool
  private var values: [Value?] = []
  private var positions: [Key: [Int]] = [:]

  /// Creates an empty set.
  init(showsExpected: Bool = false) { self.showsExpected = showsExpected }

  mutating func add(_ value: Value) {
    positions[Key(value, showsExpected: showsExpected), default: []].append(values.count)
    values.append(value)
  }

  /// Claims an element that equals `value`; returns false if there is none.
  mutating func take(_ value: Value) -> Bool {
    guard let position = positions[Key(value, showsExpected: showsExpected)]?.popLast() else { return false }
    values[position] = nil
    return true
  }

  /// The unclaimed elements, in the order of the set.
  var rest: [Value] { values.compactMap { $0 } }
}
