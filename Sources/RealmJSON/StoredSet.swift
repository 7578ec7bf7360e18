// What becomes of the elements of a set: which stay, and which change.

import RealmPages

/// The elements of a set that are not claimed yet.
struct StoredSet {
  /// What tells one element from another: that which has the same text is the same.
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
      // A link to an object that does not exist yet.
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

  /// Whether links to objects that a branch expects differ from each other.
  private let showsExpected: Bool
  private var values: [Value?] = []
  private var positions: [Key: [Int]] = [:]

  /// No elements yet.
  init(showsExpected: Bool = false) { self.showsExpected = showsExpected }

  mutating func add(_ value: Value) {
    positions[Key(value, showsExpected: showsExpected), default: []].append(values.count)
    values.append(value)
  }

  /// Claims an element; false if there is none like this.
  mutating func take(_ value: Value) -> Bool {
    guard let position = positions[Key(value, showsExpected: showsExpected)]?.popLast() else { return false }
    values[position] = nil
    return true
  }

  /// The elements that were not claimed, in the order of the set.
  var rest: [Value] { values.compactMap { $0 } }
}
