// Operations on the objects of a realm: find, add, create, delete.

import RealmPages

extension Realm {
  /// Returns all objects of a class.
  public func objects<Element: Object>(_ type: Element.Type) -> Results<Element> {
    context.checkThread()
    return Results(ResultsSource(context, .table(context.managed(type))))
  }

  /// Returns the object with a primary key; nil if it does not exist. Takes O(log n).
  public func object<Element: Object, KeyType>(ofType type: Element.Type, forPrimaryKey key: KeyType) -> Element? {
    context.checkThread()
    let managed = context.managed(type)
    return find(managed, key).flatMap { context.object(managed, $0) as? Element }
  }

  /// Returns the key of the object with a primary key; nil if it does not exist.
  func find(_ managed: ManagedClass, _ key: Any) -> Int64? {
    guard let schema = managed.schema, let primaryKey = schema.primaryKey else {
      Misuse.stop("'\(managed.name)' does not have a primary key.")
    }
    guard let value = primaryKey.engineKey(key) else {
      Misuse.stop("'\(key)' is of another type than the primary key '\(managed.name).\(primaryKey.name)'.")
    }
    return context.find(managed, value)
  }

  /// Adds an unmanaged object and everything it links to; they become managed. Does nothing for an object that this
  /// realm already manages.
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

  /// Adds each object of a sequence.
  public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) where S.Element: Object {
    for object in objects { add(object, update: update) }
  }

  /// Creates an object from the values in a dictionary, an array or another object. With `update`, an object that
  /// already has the primary key is changed instead; only the properties named by `value` are set. Objects of other
  /// realms are copied.
  @discardableResult
  public func create<T: Object>(_ type: T.Type, value: Any = [String: Any](), update: UpdatePolicy = .error) -> T {
    context.checkWrite()
    let managed = context.managed(type)
    guard let schema = managed.schema else { Misuse.stop("'\(managed.name)' is not a model.") }
    let outerCopies = context.copies
    context.copies = outerCopies ?? [:]
    defer { context.copies = outerCopies }
    if update != .error, let primaryKey = schema.primaryKey {
      let entries = ValueAssignment.entries(of: value, for: schema)
      if let given = entries.first(where: { $0.0 == primaryKey.name || $0.0 == primaryKey.storedName })?.1,
        let key = primaryKey.engineKey(given), let present = context.find(managed, key),
        let object = context.object(managed, present) as? T
      {
        let outer = context.addPolicy
        context.addPolicy = update
        defer { context.addPolicy = outer }
        if let original = value as? ObjectBase { context.copies?[original] = object }
        for (name, value) in entries where schema.index(of: name) != schema.primaryKeyIndex {
          ValueAssignment.set(name, to: value, of: object)
        }
        return object
      }
    }
    let object = type.init()
    ValueAssignment.assign(value, to: object)
    if let original = value as? ObjectBase { context.copies?[original] = object }
    context.add(object, update)
    return object
  }

  /// Ends the process: asymmetric objects, which are uploaded and then removed, need flexible sync, and these realms do
  /// not support it.
  public func create<T: AsymmetricObject>(_ type: T.Type, value: Any = [String: Any]()) {
    context.checkWrite()
    Misuse.stop("Objects of the asymmetric class '\(type.className())' need a realm with flexible sync.")
  }

  /// Deletes an object and its embedded objects. Links to it become nil, or are removed from collections.
  public func delete(_ object: ObjectBase) {
    context.checkWrite()
    guard object.context === context, let managed = object.managedClass else {
      Misuse.stop("Only objects of this realm can be deleted from it.")
    }
    if object.isInvalidated { Misuse.stop("The object was deleted already.") }
    context.delete(managed, object.objectKey)
  }

  /// Deletes each object of a sequence.
  public func delete<S: Sequence>(_ objects: S) where S.Element: ObjectBase {
    for object in Array(objects) where !object.isInvalidated { delete(object) }
  }

  /// Deletes the objects of a list, which becomes empty.
  public func delete<Element: ObjectBase>(_ objects: List<Element>) {
    for object in Array(objects) where !object.isInvalidated { delete(object) }
  }

  /// Deletes the objects that a query returns.
  public func delete<Element: ObjectBase>(_ objects: Results<Element>) {
    for object in Array(objects) where !object.isInvalidated { delete(object) }
  }

  /// Deletes all objects of all classes.
  public func deleteAll() {
    context.checkWrite()
    for schema in context.wanted.classes where !schema.isEmbedded {
      let managed = context.managed(schema)
      for key in context.keys(of: managed) { context.apply { try $0.delete(managed.key, key) } }
    }
  }
}

extension ModelProperty {
  /// Returns a primary key as an engine value; nil if `value` has the wrong type.
  func engineKey(_ value: Any) -> Value? {
    func cast<T: _Persistable>(_ type: T.Type) -> Value? { T._rlmCast(value)?._rlmPlain().value }
    return cast(storageType.valueType)
  }
}

extension RealmContext {
  /// Returns the key of the object with a primary key; nil if it does not exist.
  func find(_ managed: ManagedClass, _ primaryKey: Value) -> Int64? {
    Misuse.unwrap { () throws in
      if isInTransaction { return try find(inTransaction: managed, primaryKey) }
      guard let key = PrimaryKey(primaryKey) else { return nil }
      return try current(managed).table.objectKey(primaryKey: key)?.value
    }
  }

  /// Deletes an object; an embedded object is deleted through its owner.
  func delete(_ managed: ManagedClass, _ key: Int64) {
    guard managed.schema?.isEmbedded ?? (managed.table.kind == .embedded) else {
      return apply { try $0.delete(managed.key, ObjKey(key)) }
    }
    apply { try $0.deleteEmbedded(managed.key, ObjKey(key)) }
  }

  /// Returns the keys of all objects of a class.
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
  /// Deletes an embedded object by removing the link in its owner.
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
