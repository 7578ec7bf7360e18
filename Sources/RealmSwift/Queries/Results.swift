// Live results: the objects or values that match the conditions in the version that the realm reads.

import RealmPages
import RealmQuery

/// The live objects or values that a query finds. The query runs when an element or the count is accessed, and again
/// after the realm has moved to another version.
public struct Results<Element: RealmCollectionValue> {
  let source: ResultsSource

  init(_ source: ResultsSource) { self.source = source }

  init(_ place: CollectionPlace) {
    if let type = Element._rlmType.linkedClass?.type {
      let managed = type == DynamicObject.self ? place.linkedClass : place.context.managed(type)
      self.init(ResultsSource(place.context, .collection(place, managed)))
    } else {
      self.init(ResultsSource(place.context, .values(place, ascending: nil)))
    }
  }

  /// The realm.
  public var realm: Realm? { Realm(source.context) }

  /// True if the object or collection that the results come from was deleted, or the realm invalidated.
  public var isInvalidated: Bool { source.isInvalidated }

  /// True if the results belong to a frozen realm.
  public var isFrozen: Bool { source.context.isFrozen }

  /// The class of the objects; nil for values.
  var schema: ClassSchema? { source.managedClass?.schema }

  func passing(_ condition: QueryCondition) -> Results {
    if case .values = source.origin {
      Misuse.stop("Only collections of objects can be filtered or sorted by property.")
    }
    let next = source.with(condition)
    do { try next.check() } catch let error as InputError {
      Misuse.stop("Invalid query\(condition.text.map { " '\($0)'" } ?? ""): \(error.problem)")
    } catch { Misuse.stop("\(error)") }
    return Results(next)
  }

  func orderedValues(_ ascending: Bool) -> Results {
    guard case .values(let place, _, let isDistinct) = source.origin else { return self }
    return Results(ResultsSource(source.context, .values(place, ascending: ascending, isDistinct: isDistinct)))
  }

  var distinctValues: Results {
    guard case .values(let place, let ascending, _) = source.origin else { return self }
    return Results(ResultsSource(source.context, .values(place, ascending: ascending, isDistinct: true)))
  }

  func aggregate<T: _HasPersistedType>(_ kind: QueryAggregate.Kind, _ property: String) -> T? {
    guard let view = source.aggregate(kind, PredicateFormat.path(property, schema)) else { return nil }
    if case .null = view { return nil }
    return AnyRealmValue(view, in: source.context).flatMap { T._rlmCast($0._rlmAny) }
  }

  private func element(_ key: Int64, _ type: ManagedClass) -> Element {
    let element =
      Element.self is ObjectBase.Type && Element.self != DynamicObject.self
      ? source.context.object(type, key) as? Element
      : Element._rlmRead(StoredValue(view: .link(type.key, ObjKey(key)), context: source.context))
    guard let element else {
      Misuse.stop("the objects of '\(type.name)' are not of type \(Element.self)")
    }
    return element
  }
}

extension Results: RealmCollection {
  /// The index of the first element.
  public var startIndex: Int { 0 }
  /// The index after the last element.
  public var endIndex: Int { count }
  /// The number of elements.
  public var count: Int { source.count }

  /// The element at an index.
  public subscript(position: Int) -> Element {
    if case .values(let place, _, _) = source.origin, case .positions(let positions) = source.content {
      if !positions.indices.contains(position) { outOfBounds(position, positions.count) }
      return place.element(at: positions[position])
    }
    let keys = source.keys
    guard let type = source.managedClass, keys.indices.contains(position) else { outOfBounds(position, keys.count) }
    return element(keys[position], type)
  }

  private func outOfBounds(_ position: Int, _ count: Int) -> Never {
    Misuse.stop("Index \(position) is out of bounds (must be less than \(count)).")
  }

  /// Iterates over the current elements: changes during the iteration do not affect which elements are visited.
  public func makeIterator() -> RLMIterator<Element> {
    if case .values(let place, _, _) = source.origin, case .positions(let positions) = source.content {
      let elements: [Element] = place.elements()
      var rest = positions.makeIterator()
      return RLMIterator(AnyIterator { rest.next().map { elements[$0] } })
    }
    guard let type = source.managedClass else { return RLMIterator(AnyIterator { nil }) }
    if let schema = type.schema, schema.type == Element.self {
      if let walk = source.walk() { return RLMIterator(ObjectStream(source.context, type, schema, walk)) }
      return RLMIterator(ObjectStream(source.context, type, schema, source.keys))
    }
    var rest = source.keys.makeIterator()
    return RLMIterator(AnyIterator { rest.next().map { element($0, type) } })
  }

  /// The first element; nil if the results are empty. Takes O(1) for all objects of a class.
  public var first: Element? {
    var elements = makeIterator()
    return elements.next()
  }

  /// The results themselves.
  public var _rlmResults: Results { self }
}

extension Results {
  /// Returns true if the two are the same instance of results. Other results with the same elements are not equal.
  public static func == (a: Results, b: Results) -> Bool { a.source === b.source }
}

extension Results where Element: ObjectBase {
  /// Returns the index of an object; nil if the results do not contain it.
  public func index(of object: Element) -> Int? {
    guard object.context === source.context else { return nil }
    return source.keys.firstIndex(of: object.objectKey)
  }
}
