// Access to objects by class name and to their properties by name.

import RealmPages

/// An object of a class that is named at run time. Its lists, sets and maps of objects contain dynamic objects.
///
/// ```swift
/// for dog in realm.dynamicObjects("Dog") { print(dog.name as? String ?? "") }
/// ```
@dynamicMemberLookup public final class DynamicObject: Object {
  /// Creates an instance that represents no object: only managed objects can be dynamic.
  public required init() { super.init() }

  /// Creates an instance that represents the object with this key in a realm.
  convenience init(_ context: RealmContext, _ type: ManagedClass, _ key: Int64) {
    self.init()
    becomeManaged(by: context, type, key)
  }

  /// Returns false: `DynamicObject` is not itself a class of any realm.
  public override class func shouldIncludeInDefaultSchema() -> Bool { false }

  /// The value of a property.
  public override subscript(key: String) -> Any? {
    get {
      guard let index = schema.index(of: key), schema.properties[index].type.type == .link else { return super[key] }
      let place = PropertyPlace(self, index)
      switch schema.properties[index].type.collection {
      case .list where !schema.properties[index].type.isLinkingObjects:
        return List<DynamicObject>(CollectionPlace(place))
      case .set: return MutableSet<DynamicObject>(CollectionPlace(place))
      case .dictionary: return Map<String, DynamicObject?>(CollectionPlace(place))
      default: return super[key]
      }
    }
    set { super[key] = newValue }
  }

  /// The value of a property.
  public subscript(dynamicMember member: String) -> Any? {
    get { self[member] }
    set { self[member] = newValue }
  }

  /// The value of a property.
  public func value(forUndefinedKey key: String) -> Any? { self[key] }

  /// Sets a property.
  public func setValue(_ value: Any?, forUndefinedKey key: String) { self[key] = value }
}

extension Realm {
  /// Returns all objects of the class with this name.
  public func dynamicObjects(_ typeName: String) -> Results<DynamicObject> {
    context.checkThread()
    return Results(ResultsSource(context, .table(context.managed(named: typeName))))
  }

  /// Returns the object of a class with a primary key; nil if it does not exist.
  public func dynamicObject(ofType typeName: String, forPrimaryKey key: Any) -> DynamicObject? {
    context.checkThread()
    let type = context.managed(named: typeName)
    return find(type, key).map { DynamicObject(context, type, $0) }
  }

  /// Creates an object of the class with this name, as `create` does.
  @discardableResult
  public func dynamicCreate(
    _ typeName: String,
    value: Any = [String: Any](),
    update: UpdatePolicy = .error
  ) -> DynamicObject {
    context.checkWrite()
    let type = context.managed(named: typeName)
    guard let model = type.schema?.type as? Object.Type else {
      Misuse.stop("Embedded objects cannot be created directly: '\(typeName)'.")
    }
    return DynamicObject(context, type, create(model, value: value, update: update).objectKey)
  }
}

extension RealmContext {
  /// Returns the class with this name; ends the process if the realm has no such class.
  fileprivate func managed(named name: String) -> ManagedClass {
    guard let schema = wanted.classes.first(where: { $0.name.isExactly(name) }) else {
      Misuse.stop("The realm does not have the class '\(name)': see objectTypes.")
    }
    return managed(schema.type)
  }
}

extension AnyRealmValue {
  /// The object as a dynamic object; nil if the value is not an object.
  public var dynamicObject: DynamicObject? {
    guard case .object(let object) = self, let context = object.context, let type = object.managedClass else {
      return nil
    }
    return DynamicObject(context, type, object.objectKey)
  }
}

extension ObjectBase {
  /// Returns a list of objects as a list of dynamic objects.
  public final func dynamicList(_ propertyName: String) -> List<DynamicObject> {
    List(place(of: propertyName, .list))
  }

  /// Returns a set of objects as a set of dynamic objects.
  public final func dynamicMutableSet(_ propertyName: String) -> MutableSet<DynamicObject> {
    MutableSet(place(of: propertyName, .set))
  }

  /// Returns a map of objects as a map of dynamic objects.
  public final func dynamicMap<Key: _MapKey>(_ propertyName: String) -> Map<Key, DynamicObject?> {
    Map(place(of: propertyName, .dictionary))
  }

  private func place(of name: String, _ kind: CollectionKind) -> CollectionPlace {
    guard let index = schema.index(of: name), schema.properties[index].type.collection == kind else {
      Misuse.stop("'\(schema.name)' has no collection '\(name)' of this kind.")
    }
    return CollectionPlace(PropertyPlace(self, index))
  }
}
