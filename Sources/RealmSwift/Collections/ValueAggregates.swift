// Computes the minimum, the maximum, the sum and the average of collections of values.

import RealmPages

enum ValueAggregates {
  /// Returns the values that are not null, as the engine stores them.
  private static func engineValues<Element: RealmCollectionValue>(
    _ values: some Sequence<Element>
  ) -> [(element: Element, held: HeldValue)] {
    values.compactMap { element in
      switch element._rlmAny {
      case let scalar as any _ScalarValue: (element, HeldValue(scalar._rlmEngineValue.value))
      case let custom as any FailableCustomPersistable: (element, HeldValue(custom._rlmPlain().value))
      default: nil
      }
    }
  }

  static func min<Element: RealmCollectionValue>(_ values: some Sequence<Element>) -> Element? {
    engineValues(values).min { $0.held.view.order($1.held.view) < 0 }?.element
  }

  static func max<Element: RealmCollectionValue>(_ values: some Sequence<Element>) -> Element? {
    engineValues(values).max { $0.held.view.order($1.held.view) < 0 }?.element
  }

  static func sum<Element: RealmCollectionValue>(_ values: some Sequence<Element>) -> Element {
    Element._rlmCast(total(engineValues(values))) ?? Element._rlmDefault()
  }

  static func average<Element: RealmCollectionValue, T: _HasPersistedType>(
    _ values: some Sequence<Element>
  ) -> T? {
    let values = engineValues(values)
    if values.isEmpty { return nil }
    switch total(values) {
    case let sum as Int64: return T._rlmCast(Double(sum) / Double(values.count))
    case let sum as Double: return T._rlmCast(sum / Double(values.count))
    case let sum as Decimal128: return T._rlmCast(sum / Decimal128(values.count))
    default: return nil
    }
  }

  /// Returns the sum in the type used for the addition: integers for integers, doubles for floating-point numbers, and
  /// decimals for decimals and Mixed.
  private static func total<Element: RealmCollectionValue>(_ values: [(element: Element, held: HeldValue)]) -> Any {
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
      // An empty collection of Mixed values has an integer sum.
      if values.isEmpty, Element._rlmType.type == .mixed { return integer }
      for value in values {
        decimal = .combine("+", decimal, RealmPages.Decimal128(comparing: value.held.view))
      }
      return Decimal128(decimal)
    }
  }
}

extension RealmCollection where Element.PersistedType: MinMaxType {
  /// Returns the minimum; nil if there are no values.
  public func min() -> Element? { ValueAggregates.min(self) }

  /// Returns the maximum; nil if there are no values.
  public func max() -> Element? { ValueAggregates.max(self) }
}

extension RealmCollection where Element.PersistedType: AddableType {
  /// Returns the sum of the values; zero if there are none.
  public func sum() -> Element { ValueAggregates.sum(self) }

  /// Returns the average of the values; nil if there are none.
  public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType {
    ValueAggregates.average(self)
  }
}
