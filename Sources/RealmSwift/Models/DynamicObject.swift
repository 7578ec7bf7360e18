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
    set { if schema.isDynamic { assign(newValue, to: key) } else { super[key] = newValue } }
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

extension CollectionPlace {
  /// The class of the objects in the collection.
  var linkedClass: ManagedClass {
    guard let name = type.schema?.properties[property].linkedName else {
      Misuse.stop("The collection does not contain objects of one class.")
    }
    return context.managed(named: name)
  }
}

extension RealmContext {
  /// Returns the class with this name; ends the process if the realm has no such class.
  func managed(named name: String) -> ManagedClass {
    guard let schema = wanted.classes.first(where: { $0.name.isExactly(name) }) else {
      Misuse.stop("The realm does not have the class '\(name)': see objectTypes.")
    }
    return managed(schema)
  }
}

// MARK: objects without a model

extension RealmContext {
  /// Creates an object of a class without a model. `value` is a dictionary, an array with one value for each property
  /// in order, or another object.
  func create(_ value: Any, _ type: ManagedClass) -> DynamicObject {
    guard let schema = type.schema else { Misuse.stop("the class '\(type.name)' has no properties") }
    if schema.isEmbedded { Misuse.stop("Embedded objects cannot be created directly: '\(schema.name)'.") }
    let values = ValueAssignment.entries(of: value, for: schema)
    // A migration sets a new primary key at its end.
    let primaryKey = apply { try $0.table(type.key).primaryKey?.name }.flatMap { schema.index(of: $0) }
    let key = apply { transaction throws -> ObjKey in
      guard let primaryKey else { return try transaction.create(type.key) }
      let property = schema.properties[primaryKey]
      guard let given = values.first(where: { schema.index(of: $0.0) == primaryKey }),
        let key = property.storageType.valueType.engineValue(given.1)
      else { throw Realm.Error(.fail, "an object of '\(schema.name)' needs a value for '\(property.name)'") }
      return try transaction.create(type.key, primaryKey: key)
    }
    let object = DynamicObject(self, type, key.value)
    for (name, value) in values {
      guard let index = schema.index(of: name), index != primaryKey else { continue }
      // A required property keeps its default.
      if value.map({ ValueAssignment.isNil($0) }) ?? true, !schema.properties[index].type.isOptional { continue }
      object[name] = value
    }
    return object
  }
}

extension _Persistable {
  /// Returns a scalar as the engine stores it, after converting it to this type; nil if that is not possible.
  fileprivate static func engineValue(_ value: Any?) -> Value? {
    _rlmIsPlain ? _rlmCast(DynamicObject.stored(value))?._rlmPlain().value : nil
  }
}

extension DynamicObject {
  /// Returns the stored value of an enumeration or a custom type; other values as they are.
  fileprivate static func stored(_ value: Any?) -> Any? {
    switch value {
    case let custom as any PersistableEnum: custom.rawValue
    case let custom as any FailableCustomPersistable: custom.persistableValue
    default: value
    }
  }

  /// Sets a property of an object without a model. Dictionaries, arrays and objects without a realm become objects of
  /// the class that the property links to.
  fileprivate func assign(_ value: Any?, to name: String) {
    guard let context, let type = managedClass, let index = schema.index(of: name) else {
      Misuse.stop("'\(schema.name)' has no property '\(name)'.")
    }
    context.checkWrite()
    let property = schema.properties[index]
    guard let target = property.targetName, let value, !ValueAssignment.isNil(value) else {
      return super[name] = Self.stored(value)
    }
    let targetClass = context.managed(named: target)
    if targetClass.schema?.isEmbedded == true { return embed(value, property, type.columnKeys[index], targetClass) }
    func object(_ value: Any) -> Any {
      if ValueAssignment.isNil(value) || (value as? ObjectBase)?.context != nil { return value }
      return context.create(ValueAssignment.unwrapped(value), targetClass)
    }
    switch (property.type.collection, value) {
    case (nil, _): super[name] = object(value)
    case (.dictionary, let entries as [String: Any]): super[name] = entries.mapValues { object($0) }
    case (.list, let values as [Any]), (.set, let values as [Any]): super[name] = values.map { object($0) }
    default: super[name] = value
    }
  }

  /// Stores copies of objects in a property for embedded objects.
  private func embed(_ value: Any, _ property: ModelProperty, _ column: ColKey, _ target: ManagedClass) {
    guard let context, let type = managedClass, let schema = target.schema else { return }
    let key = ObjKey(objectKey)
    func fill(_ made: ObjKey, _ value: Any) {
      let object = DynamicObject(context, target, made.value)
      for (name, value) in ValueAssignment.entries(of: ValueAssignment.unwrapped(value), for: schema) {
        object[name] = value
      }
    }
    func refuse() -> Never {
      Misuse.stop("The value '\(value)' does not fit the property '\(type.name).\(property.name)'.")
    }
    /// Objects in the property cannot be copied: they are deleted before the new ones are created.
    func check(_ value: Any) {
      if (ValueAssignment.unwrapped(value) as? ObjectBase)?.context === context {
        Misuse.stop("An embedded object that is already managed cannot be a part of another object too.")
      }
    }
    switch property.type.collection {
    case nil:
      if let same = ValueAssignment.unwrapped(value) as? DynamicObject, same == super[property.name] as? DynamicObject {
        return
      }
      check(value)
      fill(context.apply { try $0.setEmbedded(type.key, key, column) }, value)
    case .list, .set:
      guard let values = value as? any Sequence else { refuse() }
      let elements = Self.elements(of: values)
      elements.forEach(check)
      context.apply { try $0.clear(type.key, key, column) }
      for (index, element) in elements.enumerated() {
        fill(context.apply { try $0.insertEmbedded(type.key, key, column, at: index) }, element)
      }
    case .dictionary:
      var entries = value as? [String: Any]
      if let map = value as? Map<String, DynamicObject?> {
        entries = Dictionary(zip(map.keys, map.values).map { ($0, $1 as Any) }) { $1 }
      }
      guard let entries else { refuse() }
      entries.values.forEach(check)
      context.apply { try $0.clear(type.key, key, column) }
      for (name, value) in entries {
        let entry = Array(name.utf8)
        if ValueAssignment.isNil(value) {
          context.apply { try $0.set(type.key, key, column, entry: entry, .null) }
        } else {
          fill(context.apply { try $0.setEmbedded(type.key, key, column, entry: entry) }, value)
        }
      }
    }
  }

  private static func elements(of values: some Sequence) -> [Any] { values.map { $0 } }
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
