// Compares a value from a text with the stored one. Values that are rendered alike are equal, so that reading a text
// and writing it back changes nothing.

import RealmPages

extension Value {
  /// True if the stored value is rendered like this one. Cost: the size of the value.
  func rendersAs(_ view: ValueView) throws(EngineError) -> Bool {
    switch (self, view) {
    case (.null, .null): return true
    // Null links, and links to objects that do not exist yet, are shown as null.
    case (.null, .link(_, let key)): return key.value < 0
    case (.int(let a), .int(let b)): return a == b
    case (.bool(let a), .bool(let b)): return a == b
    case (.float(let a), .float(let b)): return a.bitPattern == b.bitPattern || a.isNaN && b.isNaN
    case (.double(let a), .double(let b)): return a.bitPattern == b.bitPattern || a.isNaN && b.isNaN
    case (.string(let a), .string(let b)), (.data(let a), .data(let b)):
      return b.equals(a)
    case (.date(let a), .date(let b)): return a.moment == b.moment
    case (.decimal128(let a), .decimal128(let b)): return a == b || a.shows(as: b)
    case (.objectID(let a), .objectID(let b)): return a == b
    case (.uuid(let a), .uuid(let b)): return a == b
    case (.link(let a, let b), .link(let c, let d)): return a == c && b == d
    case (.list(let values), .list(var list)):
      if values.count != list.count { return false }
      for (index, value) in values.enumerated() {
        if try !value.rendersAs(list.value(at: index)) { return false }
      }
      return true
    case (.dictionary(let entries), .dictionary(var dictionary)):
      // Both are sorted by key.
      if entries.count != dictionary.count { return false }
      for (index, entry) in entries.enumerated() {
        if try !dictionary.key(at: index).equals(entry.key) { return false }
        if try !entry.value.rendersAs(dictionary.value(at: index)) { return false }
      }
      return true
    default: return false
    }
  }
}

extension Decimal128 {
  /// True if both are rendered as the same text.
  fileprivate func shows(as other: Decimal128) -> Bool {
    guard high >> 63 == other.high >> 63 else { return false }
    switch (parts, other.parts) {
    case (.nan, .nan), (.infinity, .infinity): return true
    case (.number(let a, let b), .number(let c, let d)): return a == c && b == d
    default: return false
    }
  }
}

/// The identity of a value in comparisons by text: values that render alike are equal.
enum RenderedValue: Hashable {
  case value(Value)
  case float(UInt32)
  case double(UInt64)
  case date(Int128)
  case nanFloat, nanDouble, nanDecimal(isNegative: Bool)

  /// With `showsExpected`, links to different objects that a branch expects are different values.
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
