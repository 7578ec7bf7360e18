// Objects by the name of their class, and their properties by name.

import RealmPages

/// An object of a class that a program names at run time. Lists, sets and maps of objects have dynamic objects.
///
/// ```swift
/// for dog in realm.dynamicObjects("Dog") { print(dog.name as? String ?? "") }
/// ```
@dynamicMemberLookup public final class DynamicObject: Object {
  /// Only objects of a realm are dynamic; this stands for none.
  public required init() { super.init() }

  /// The object of a realm with this key.
  convenience init(_ context: RealmContext, _ type: ManagedClass, _ key: Int64) {
    self.init()
    becomeManaged(by: context, type, key)
  }

  /// The class itself is in no realm.
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
  /// All objects of the class with this name.
  public func dynamicObjects(_ typeName: String) -> Results<DynamicObject> {
    context.checkThread()
    return Results(ResultsSource(context, .table(context.managed(named: typeName))))
  }

  /// The object of a class with a primary key; nil if there is none.
  public func dynamicObject(ofType typeName: String, forPrimaryKey key: Any) -> DynamicObject? {
    context.checkThread()
    let type = context.managed(named: typeName)
    return find(type, key).map { DynamicObject(context, type, $0) }
  }

  /// Makes an object of the class with this name, as `create` does.
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
  /// The class with this name; ends the process if the realm does not have it.
  fileprivate func managed(named name: String) -> ManagedClass {
    guard let schema = wanted.classes.first(where: { $0.name.isExactly(name) }) else {
      Misuse.stop("The realm does not have the class '\(name)': see objectTypes.")
    }
    return managed(schema.type)
  }
}

extension AnyRealmValue {
  /// The object as a dynamic one; nil for another value.
  public var dynamicObject: DynamicObject? {
    guard case .object(let object) = self, let context = object.context, let type = object.managedClass else {
      return nil
    }
    return DynamicObject(context, type, object.objectKey)
  }
}

extension ObjectBase {
  /// A list of objects as one of dynamic objects.
  public final func dynamicList(_ propertyName: String) -> List<DynamicObject> {
    List(place(of: propertyName, .list))
  }

  /// A set of objects as one of dynamic objects.
  public final func dynamicMutableSet(_ propertyName: String) -> MutableSet<DynamicObject> {
    MutableSet(place(of: propertyName, .set))
  }

  /// A map of objects as one of dynamic objects.
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
