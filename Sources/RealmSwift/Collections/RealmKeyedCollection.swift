// The common interface of maps: filtering, sorting and aggregates of the values.

import RealmPages
import RealmQuery

/// A collection of values with keys.
public protocol RealmKeyedCollection<Key, Value>: Sequence, ThreadConfined, CustomStringConvertible {
  /// The type of the keys.
  associatedtype Key: _MapKey
  /// The type of the values.
  associatedtype Value: RealmCollectionValue
  /// The number of entries.
  var count: Int { get }
  /// The keys in ascending order.
  var keys: [Key] { get }
  /// The values in the order of their keys.
  var values: [Value] { get }
  /// The value for a key; setting nil removes the entry.
  subscript(key: Key) -> Value? { get set }
  /// Sets the value for a key.
  func updateValue(_ value: Value, forKey key: Key)
  /// Removes the entry for a key.
  func removeObject(for key: Key)
  /// Removes all entries.
  func removeAll()
  /// The values as results; ends the process for an unmanaged map.
  var _rlmResults: Results<Value> { get }
}

extension Map: RealmKeyedCollection {
  /// The values as results.
  public var _rlmResults: Results<Value> {
    guard case .managed(let place) = storage else {
      Misuse.stop("This operation needs a map of an object that was added to a realm.")
    }
    return Results(place)
  }
}

extension RealmKeyedCollection {
  /// Returns the objects that match a format string.
  public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Value> {
    _rlmResults.passing(PredicateFormat.condition(predicateFormat, args, _rlmResults.schema))
  }

  /// Returns true if an entry matches a predicate.
  public func contains(where predicate: @escaping (_ key: Key, _ value: Value) -> Bool) -> Bool {
    zip(keys, values).contains { predicate($0, $1) }
  }

  /// Returns the objects sorted by a property, or by a path to one.
  public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Value> {
    _rlmResults.sorted(byKeyPath: keyPath, ascending: ascending)
  }

  /// Returns the objects sorted by several properties.
  public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Element == SortDescriptor {
    _rlmResults.sorted(by: sortDescriptors)
  }

  /// The values as a collection that supports aggregates, managed or not.
  private var elements: AnyRealmCollection<Value> {
    if realm != nil { return AnyRealmCollection(_rlmResults) }
    let list = List<Value>()
    list.append(objectsIn: values)
    return AnyRealmCollection(list)
  }

  /// Returns the minimum of a property; nil if there are no values.
  public func min<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
    elements.min(ofProperty: property)
  }

  /// Returns the maximum of a property; nil if there are no values.
  public func max<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
    elements.max(ofProperty: property)
  }

  /// Returns the sum of a property.
  public func sum<T: _HasPersistedType>(ofProperty property: String) -> T where T.PersistedType: AddableType {
    elements.sum(ofProperty: property)
  }

  /// Returns the average of a property; nil if there are no values.
  public func average<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: AddableType {
    elements.average(ofProperty: property)
  }
}

extension Map {
  /// Returns the value for a key.
  public func value(forKey key: String) -> Any? { self[Key(_rlmKey: key)]?._rlmAny }

  /// Returns the value for a key, or a property of the object for a key, as in `rex.name`.
  public func value(forKeyPath keyPath: String) -> Any? {
    guard let point = keyPath.firstIndex(of: "."), self[Key(_rlmKey: keyPath)] == nil else {
      return value(forKey: keyPath)
    }
    return (value(forKey: String(keyPath[..<point])) as? ObjectBase)?
      .value(forKeyPath: String(keyPath[keyPath.index(after: point)...]))
  }

  /// Sets the value for a key; ends the process if the value has the wrong type.
  public func setValue(_ value: Any?, forKey key: String) {
    guard let value else { return removeObject(for: Key(_rlmKey: key)) }
    guard let element = Value._rlmCast(value) else {
      Misuse.stop("The value '\(value)' does not fit a map of \(Value.self).")
    }
    updateValue(element, forKey: Key(_rlmKey: key))
  }
}

extension RealmKeyedCollection where Value: OptionalLink {
  /// Returns the objects that match a condition: `where { $0.age > 3 }`.
  public func `where`(_ isIncluded: (Query<Value>) -> Query<Bool>) -> Results<Value> {
    _rlmResults.passing(QueryBuilder.condition(isIncluded(Query<Value>()).node, _rlmResults.schema))
  }

  /// Returns the objects sorted by a property.
  public func sorted<T: _HasPersistedType>(
    by keyPath: KeyPath<Value.Linked, T>,
    ascending: Bool = true
  ) -> Results<Value> where T.PersistedType: SortableType {
    sorted(byKeyPath: PropertyTracer.name(of: keyPath), ascending: ascending)
  }

  /// Returns the minimum of a property; nil if there are no values.
  public func min<T: _HasPersistedType>(of keyPath: KeyPath<Value.Linked, T>) -> T?
  where T.PersistedType: MinMaxType { min(ofProperty: PropertyTracer.name(of: keyPath)) }

  /// Returns the maximum of a property; nil if there are no values.
  public func max<T: _HasPersistedType>(of keyPath: KeyPath<Value.Linked, T>) -> T?
  where T.PersistedType: MinMaxType { max(ofProperty: PropertyTracer.name(of: keyPath)) }

  /// Returns the sum of a property.
  public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Value.Linked, T>) -> T
  where T.PersistedType: AddableType { sum(ofProperty: PropertyTracer.name(of: keyPath)) }

  /// Returns the average of a property; nil if there are no values.
  public func average<T: _HasPersistedType>(of keyPath: KeyPath<Value.Linked, T>) -> T?
  where T.PersistedType: AddableType { average(ofProperty: PropertyTracer.name(of: keyPath)) }
}

extension RealmKeyedCollection where Value.PersistedType: MinMaxType {
  /// Returns the minimum; nil if there are no values.
  public func min() -> Value? { ValueAggregates.min(values) }

  /// Returns the maximum; nil if there are no values.
  public func max() -> Value? { ValueAggregates.max(values) }
}

extension RealmKeyedCollection where Value.PersistedType: AddableType {
  /// Returns the sum of the values; zero if there are none.
  public func sum() -> Value { ValueAggregates.sum(values) }

  /// Returns the average of the values; nil if there are none.
  public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType {
    ValueAggregates.average(values)
  }
}

extension RealmKeyedCollection where Value.PersistedType: SortableType {
  /// Returns the sorted values.
  public func sorted(ascending: Bool = true) -> Results<Value> { _rlmResults.orderedValues(ascending) }
}
