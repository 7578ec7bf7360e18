// The smallest and greatest value, the sum and the average of collections of values.

import RealmPages

extension RealmCollection {
  /// The values that are not null, as the engine has them.
  fileprivate var engineValues: [(element: Element, held: HeldValue)] {
    compactMap { element in
      guard let scalar = element._rlmAny as? any _ScalarValue else { return nil }
      return (element, HeldValue(scalar._rlmEngineValue.value))
    }
  }

  /// The sum in the type that the values are added in: integers and numbers as such, decimals and mixed as decimals.
  fileprivate func total(_ values: [(element: Element, held: HeldValue)]) -> Any {
    var integer: Int64 = 0, number = 0.0, decimal = Decimal128().decimal
    for value in values {
      switch value.held.view {
      case .int(let value): integer &+= value
      case .float(let value): number += Double(value)
      case .double(let value): number += value
      default: break
      }
    }
    switch Element._rlmType.type {
    case .int: return integer
    case .float, .double: return number
    default:
      for value in values {
        decimal = .combine("+", decimal, RealmPages.Decimal128(comparing: value.held.view))
      }
      return Decimal128(decimal)
    }
  }
}

extension RealmCollection where Element: MinMaxType {
  /// The smallest value; nil if there is none.
  public func min() -> Element? { engineValues.min { $0.held.view.order($1.held.view) < 0 }?.element }

  /// The greatest value; nil if there is none.
  public func max() -> Element? { engineValues.max { $0.held.view.order($1.held.view) < 0 }?.element }
}

extension RealmCollection where Element: AddableType {
  /// The sum of the values; zero if there are none.
  public func sum() -> Element {
    Element._rlmCast(total(engineValues)) ?? Element._rlmDefault()
  }

  /// The average of the values; nil if there are none.
  public func average<T: RealmCollectionValue & AddableType>() -> T? {
    let values = engineValues
    if values.isEmpty { return nil }
    switch total(values) {
    case let sum as Int64: return T._rlmCast(Double(sum) / Double(values.count))
    case let sum as Double: return T._rlmCast(sum / Double(values.count))
    case let sum as Decimal128: return T._rlmCast(sum / Decimal128(values.count))
    default: return nil
    }
  }
}
