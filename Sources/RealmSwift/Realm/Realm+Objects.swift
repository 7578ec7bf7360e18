// Objects of a realm: finding, adding, creating, deleting.

import RealmPages

extension Realm {
  /// All objects of a class.
  public func objects<Element: Object>(_ type: Element.Type) -> Results<Element> {
    context.checkThread()
    return Results(ResultsSource(context, .table(context.managed(type))))
  }

  /// The object with a primary key; nil if there is none. O(log n).
  public func object<Element: Object, KeyType>(ofType type: Element.Type, forPrimaryKey key: KeyType) -> Element? {
    context.checkThread()
    let managed = context.managed(type)
    return find(managed, key).flatMap { context.object(managed, $0) as? Element }
  }

  /// The key of the object with a primary key.
  func find(_ managed: ManagedClass, _ key: Any) -> Int64? {
    guard let schema = managed.schema, let primaryKey = schema.primaryKey else {
      Misuse.stop("'\(managed.name)' does not have a primary key.")
    }
    guard let value = primaryKey.engineKey(key) else {
      Misuse.stop("'\(key)' is of another type than the primary key '\(managed.name).\(primaryKey.name)'.")
    }
    return context.find(managed, value)
  }

  /// Adds an unmanaged object, which becomes managed, with all that it links to. A managed object of this realm stays
  /// as it is.
  public func add(_ object: Object, update: UpdatePolicy = .error) {
    context.checkWrite()
    if object.context != nil {
      _ = context.link(to: object, update)
      return
    }
    if update != .error, ClassSchema.of(type(of: object)).primaryKeyIndex == nil {
      Misuse.stop(
        "'\(ClassSchema.of(type(of: object)).name)' does not have a primary key, so update needs to be .error."
      )
    }
    context.add(object, update)
  }

  /// Adds objects.
  public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) where S.Element: Object {
    for object in objects { add(object, update: update) }
  }

  /// Makes an object of the values in a dictionary, an array or another object, or changes the one with its primary
  /// key: then only the properties that `value` names. Objects of other realms are copied.
  @discardableResult
  public func create<T: Object>(_ type: T.Type, value: Any = [String: Any](), update: UpdatePolicy = .error) -> T {
    context.checkWrite()
    let managed = context.managed(type)
    guard let schema = managed.schema else { Misuse.stop("'\(managed.name)' is no model.") }
    let copied = context.copiesManaged
    context.copiesManaged = true
    defer { context.copiesManaged = copied }
    if update != .error, let primaryKey = schema.primaryKey {
      let entries = ValueAssignment.entries(of: value, for: schema)
      if let given = entries.first(where: { $0.0 == primaryKey.name || $0.0 == primaryKey.storedName })?.1,
        let key = primaryKey.engineKey(given), let present = context.find(managed, key),
        let object = context.object(managed, present) as? T
      {
        let outer = context.addPolicy
        context.addPolicy = update
        defer { context.addPolicy = outer }
        for (name, value) in entries where schema.index(of: name) != schema.primaryKeyIndex {
          ValueAssignment.set(name, to: value, of: object)
        }
        return object
      }
    }
    let object = type.init()
    ValueAssignment.assign(value, to: object)
    context.add(object, update)
    return object
  }

  /// Makes an object that is uploaded and removed. Ends the process in a realm without flexible sync, which has no such
  /// classes.
  public func create<T: AsymmetricObject>(_ type: T.Type, value: Any = [String: Any]()) {
    context.checkWrite()
    Misuse.stop("Objects of the asymmetric class '\(type.className())' need a realm with flexible sync.")
  }

  /// Deletes an object. Links to it become nil or are removed from collections, embedded objects go too.
  public func delete(_ object: ObjectBase) {
    context.checkWrite()
    guard object.context === context, let managed = object.managedClass else {
      Misuse.stop("Only objects of this realm can be deleted from it.")
    }
    if object.isInvalidated { Misuse.stop("The object was deleted already.") }
    context.delete(managed, object.objectKey)
  }

  /// Deletes objects.
  public func delete<S: Sequence>(_ objects: S) where S.Element: ObjectBase {
    for object in Array(objects) where !object.isInvalidated { delete(object) }
  }

  /// Deletes the objects of a list, which is empty then.
  public func delete<Element: ObjectBase>(_ objects: List<Element>) {
    for object in Array(objects) where !object.isInvalidated { delete(object) }
  }

  /// Deletes the objects of a query.
  public func delete<Element: ObjectBase>(_ objects: Results<Element>) {
    for object in Array(objects) where !object.isInvalidated { delete(object) }
  }

  /// Deletes all objects of all classes.
  public func deleteAll() {
    context.checkWrite()
    for schema in context.wanted.classes where !schema.isEmbedded {
      let managed = context.managed(schema.type)
      for key in context.keys(of: managed) { context.apply { try $0.delete(managed.key, key) } }
    }
  }
}

extension ModelProperty {
  /// A primary key as the engine has it; nil for a value of another type.
  func engineKey(_ value: Any) -> Value? {
    func cast<T: _Persistable>(_ type: T.Type) -> Value? { T._rlmCast(value)?._rlmPlain().value }
    return cast(storageType.valueType)
  }
}

extension RealmContext {
  /// The object with a primary key.
  func find(_ managed: ManagedClass, _ primaryKey: Value) -> Int64? {
    Misuse.unwrap { () throws in
      if isInTransaction { return try find(inTransaction: managed, primaryKey) }
      guard let key = PrimaryKey(primaryKey) else { return nil }
      return try current(managed).table.objectKey(primaryKey: key)?.value
    }
  }

  /// Deletes an object, an embedded one through its owner.
  func delete(_ managed: ManagedClass, _ key: Int64) {
    guard managed.schema?.isEmbedded ?? (managed.table.kind == .embedded) else {
      return apply { try $0.delete(managed.key, ObjKey(key)) }
    }
    apply { try $0.deleteEmbedded(managed.key, ObjKey(key)) }
  }

  /// The keys of all objects of a class.
  func keys(of managed: ManagedClass) -> [ObjKey] {
    Misuse.unwrap { () throws in
      let cursor = ObjectCursor(try current(managed).table)
      var keys: [ObjKey] = []
      while try cursor.next() { keys.append(cursor.key) }
      return keys
    }
  }
}

extension WriteTransaction {
  /// Deletes an embedded object where its owner has it.
  func deleteEmbedded(_ table: TableKey, _ key: ObjKey) throws {
    for link in try incomingLinks(of: table, key) ?? [] {
      let (origin, column) = (link.origin, link.column)
      switch link.path.first {
      case .none: try set(origin.table, origin.key, column, .null)
      case .index(let index): try remove(origin.table, origin.key, column, at: index)
      case .key(let entry): try set(origin.table, origin.key, column, entry: entry, .null)
      }
    }
  }
}
