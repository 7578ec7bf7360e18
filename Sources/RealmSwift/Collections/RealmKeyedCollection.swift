// What maps can be asked: the values as results, what they add up to.

import RealmPages
import RealmQuery

/// A collection of values by name.
public protocol RealmKeyedCollection<Key, Value>: Sequence, ThreadConfined, CustomStringConvertible {
  /// The type of the names.
  associatedtype Key: _MapKey
  /// The type of the values.
  associatedtype Value: RealmCollectionValue
  /// The number of entries.
  var count: Int { get }
  /// The names in ascending order.
  var keys: [Key] { get }
  /// The values in the order of their names.
  var values: [Value] { get }
  /// The value of a name; setting nil removes the entry.
  subscript(key: Key) -> Value? { get set }
  /// Sets the value of a name.
  func updateValue(_ value: Value, forKey key: Key)
  /// Removes an entry.
  func removeObject(for key: Key)
  /// Removes all entries.
  func removeAll()
  /// The values as results; ends the process for a map that belongs to no object yet.
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
  /// The objects that pass a condition, which is a format string.
  public func filter(_ predicateFormat: String, _ args: Any...) -> Results<Value> {
    _rlmResults.passing(PredicateFormat.condition(predicateFormat, args, _rlmResults.schema))
  }

  /// Whether an entry passes a condition.
  public func contains(where predicate: @escaping (_ key: Key, _ value: Value) -> Bool) -> Bool {
    zip(keys, values).contains { predicate($0, $1) }
  }

  /// The objects in the order of a property, or of a path to one.
  public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Value> {
    _rlmResults.sorted(byKeyPath: keyPath, ascending: ascending)
  }

  /// The objects in the order of several properties.
  public func sorted<S: Sequence>(by sortDescriptors: S) -> Results<Value> where S.Element == SortDescriptor {
    _rlmResults.sorted(by: sortDescriptors)
  }

  /// The values as a collection that adds up, in a realm or not.
  private var elements: AnyRealmCollection<Value> {
    if realm != nil { return AnyRealmCollection(_rlmResults) }
    let list = List<Value>()
    list.append(objectsIn: values)
    return AnyRealmCollection(list)
  }

  /// The smallest value of a property; nil if there are no values.
  public func min<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
    elements.min(ofProperty: property)
  }

  /// The greatest value of a property; nil if there are no values.
  public func max<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: MinMaxType {
    elements.max(ofProperty: property)
  }

  /// The sum of the values of a property.
  public func sum<T: _HasPersistedType>(ofProperty property: String) -> T where T.PersistedType: AddableType {
    elements.sum(ofProperty: property)
  }

  /// The average of the values of a property; nil if there are no values.
  public func average<T: _HasPersistedType>(ofProperty property: String) -> T? where T.PersistedType: AddableType {
    elements.average(ofProperty: property)
  }
}

extension Map {
  /// The value of a name.
  public func value(forKey key: String) -> Any? { self[Key(_rlmKey: key)]?._rlmAny }

  /// The value of a name, or of a property of the object there: `rex.name`.
  public func value(forKeyPath keyPath: String) -> Any? {
    guard let point = keyPath.firstIndex(of: "."), self[Key(_rlmKey: keyPath)] == nil else {
      return value(forKey: keyPath)
    }
    return (value(forKey: String(keyPath[..<point])) as? ObjectBase)?
      .value(forKeyPath: String(keyPath[keyPath.index(after: point)...]))
  }

  /// Sets the value of a name; ends the process if it has another type.
  public func setValue(_ value: Any?, forKey key: String) {
    guard let value else { return removeObject(for: Key(_rlmKey: key)) }
    guard let element = Value._rlmCast(value) else {
      Misuse.stop("The value '\(value)' does not fit a map of \(Value.self).")
    }
    updateValue(element, forKey: Key(_rlmKey: key))
  }
}

extension RealmKeyedCollection where Value: OptionalLink {
  /// The objects that pass a condition: `where { $0.age > 3 }`.
  public func `where`(_ isIncluded: (Query<Value>) -> Query<Bool>) -> Results<Value> {
    _rlmResults.passing(QueryBuilder.condition(isIncluded(Query<Value>()).node, _rlmResults.schema))
  }

  /// The objects in the order of a property.
  public func sorted<T: _HasPersistedType>(
    by keyPath: KeyPath<Value.Linked, T>,
    ascending: Bool = true
  ) -> Results<Value> where T.PersistedType: SortableType {
    sorted(byKeyPath: PropertyTracer.name(of: keyPath), ascending: ascending)
  }

  /// The smallest value of a property; nil if there are no values.
  public func min<T: _HasPersistedType>(of keyPath: KeyPath<Value.Linked, T>) -> T?
  where T.PersistedType: MinMaxType { min(ofProperty: PropertyTracer.name(of: keyPath)) }

  /// The greatest value of a property; nil if there are no values.
  public func max<T: _HasPersistedType>(of keyPath: KeyPath<Value.Linked, T>) -> T?
  where T.PersistedType: MinMaxType { max(ofProperty: PropertyTracer.name(of: keyPath)) }

  /// The sum of the values of a property.
  public func sum<T: _HasPersistedType>(of keyPath: KeyPath<Value.Linked, T>) -> T
  where T.PersistedType: AddableType { sum(ofProperty: PropertyTracer.name(of: keyPath)) }

  /// The average of the values of a property; nil if there are no values.
  public func average<T: _HasPersistedType>(of keyPath: KeyPath<Value.Linked, T>) -> T?
  where T.PersistedType: AddableType { average(ofProperty: PropertyTracer.name(of: keyPath)) }
}

extension RealmKeyedCollection where Value.PersistedType: MinMaxType {
  /// The smallest value; nil if there is none.
  public func min() -> Value? { ValueAggregates.min(values) }

  /// The greatest value; nil if there is none.
  public func max() -> Value? { ValueAggregates.max(values) }
}

extension RealmKeyedCollection where Value.PersistedType: AddableType {
  /// The sum of the values; zero if there are none.
  public func sum() -> Value { ValueAggregates.sum(values) }

  /// The average of the values; nil if there are none.
  public func average<T: _HasPersistedType>() -> T? where T.PersistedType: AddableType {
    ValueAggregates.average(values)
  }
}

extension RealmKeyedCollection where Value.PersistedType: SortableType {
  /// The values in order.
  public func sorted(ascending: Bool = true) -> Results<Value> { _rlmResults.orderedValues(ascending) }
}
