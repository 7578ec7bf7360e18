// The objects that link to an object.

import RealmPages

/// A linking-objects collection of any class.
public protocol LinkingObjectsProtocol: _Persistable {}

/// The objects that link to this one: `@Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>`.
public struct LinkingObjects<Element: ObjectBase> {
  /// Nil for an unmanaged object: nothing links to it.
  let results: Results<Element>?
  /// An object that records reads, for key paths through the collection.
  private var traced: Element?

  init(_ results: Results<Element>?) { self.results = results }

  /// The realm; nil for an unmanaged object.
  public var realm: Realm? { results?.realm }
  /// True if the object that the collection belongs to was deleted.
  public var isInvalidated: Bool { results?.isInvalidated ?? false }
  /// True if the collection belongs to a frozen realm.
  public var isFrozen: Bool { results?.isFrozen ?? false }
}

extension LinkingObjects: RealmCollection {
  /// The index of the first object.
  public var startIndex: Int { 0 }
  /// The index after the last object.
  public var endIndex: Int { count }
  /// The number of objects.
  public var count: Int { results?.count ?? 0 }
  /// The object at an index.
  public subscript(position: Int) -> Element {
    if let traced { return traced }
    guard let results else { Misuse.stop("Index \(position) is out of bounds: nothing links to an unmanaged object.") }
    return results[position]
  }
  /// Iterates over the current objects: changes during the iteration do not affect which objects are visited.
  public func makeIterator() -> RLMIterator<Element> { results?.makeIterator() ?? RLMIterator(AnyIterator { nil }) }
  /// The objects as results.
  public var _rlmResults: Results<Element> {
    guard let results else { Misuse.stop("This operation needs an object that was added to a realm.") }
    return results
  }
}

extension LinkingObjects {
  /// Returns true if the two come from the same read of a property.
  public static func == (a: LinkingObjects, b: LinkingObjects) -> Bool { a.results?.source === b.results?.source }
}

extension LinkingObjects: LinkingObjectsProtocol {
  /// The type of linking objects, which are not stored.
  public static var _rlmType: _PropertyType {
    _PropertyType(
      type: .link,
      collection: .list,
      linkedClass: ClassReference(type: Element.self),
      isLinkingObjects: true
    )
  }
  /// Returns a collection whose elements record reads.
  public static func _rlmTraced(_ place: PropertyPlace) -> LinkingObjects? {
    var objects = LinkingObjects(nil)
    objects.traced = PropertyTracer.element(place)
    return objects
  }
  /// Returns an empty collection.
  public static func _rlmDefault() -> LinkingObjects { LinkingObjects(nil) }
  /// Returns the objects that link to a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> LinkingObjects {
    guard let context = place.object.context, let target = place.object.managedClass,
      let property = target.schema?.properties[place.index]
    else { return LinkingObjects(nil) }
    let origin = context.managed(Element.self)
    guard let name = property.originProperty, let index = origin.schema?.index(of: name) else {
      return LinkingObjects(nil)
    }
    let source = ResultsSource(
      context,
      .linking(origin, property: index, target: target, key: place.object.objectKey)
    )
    return LinkingObjects(Results(source))
  }
  /// Ends the process: linking objects are computed and cannot be set.
  public static func _rlmSet(_ place: PropertyPlace, _ value: LinkingObjects) {
    Misuse.stop("Linking objects cannot be set: they follow from the links of other objects.")
  }
  /// Returns the value if it has this type; nil otherwise.
  public static func _rlmCast(_ value: Any?) -> LinkingObjects? { value as? LinkingObjects }
  /// The collection itself.
  public var _rlmAny: Any? { self }
}
