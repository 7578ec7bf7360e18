// Turns unmanaged objects into managed ones: adds an object and everything it links to.

import RealmPages

extension RealmContext {
  /// The policy for objects that are added because another object links to them.
  var policy: Realm.UpdatePolicy { addPolicy ?? .error }

  /// Stores one value in a property.
  func store(_ value: EngineValue, _ type: ManagedClass, _ key: Int64, _ property: Int) {
    let column = type.columnKeys[property], object = ObjKey(key)
    if isStored(value, in: { try view(type, key, property) }) { return }
    store(
      value,
      in: { try view(type, key, property) },
      plain: { try $0.set(type.key, object, column, $1) },
      embedded: { try $0.setEmbedded(type.key, object, column) }
    )
  }

  /// True if `value` is the embedded object already stored in `place`: `owner.part = owner.part` changes nothing. Reads
  /// `place` only if `value` is a managed embedded object.
  func isStored(_ value: EngineValue, in place: () throws -> ValueView?) -> Bool {
    guard case .embedded(let object) = value.content, object.context === self else { return false }
    guard case .link(let table, let key) = Misuse.unwrap({ try place() }) else { return false }
    return key.value == object.objectKey && table == object.managedClass?.key
  }

  /// Stores a value with `plain`, or an embedded object in the object that `embedded` creates. While objects are
  /// updated with the policy `modified`, an embedded object replaces the values of the one in `place`.
  func store(
    _ value: EngineValue,
    in place: () throws -> ValueView? = { nil },
    plain: (borrowing WriteTransaction, Value) throws -> Void,
    embedded: (borrowing WriteTransaction) throws -> ObjKey
  ) {
    switch value.content {
    case .value(let value): apply { try plain($0, value) }
    case .embedded(let given):
      let object = copies != nil && !given.holdsValues ? copy(of: given) : given
      let target = targetForEmbedding(object)
      if addPolicy == .modified, case .link(let table, let key) = Misuse.unwrap({ try place() }), table == target.key {
        return fill(object, target, key.value, isNew: false)
      }
      let made = apply(embedded)
      fill(object, target, made.value, isNew: true)
    }
  }

  /// Returns the class of an embedded object that is about to be stored; ends the process if the object is already
  /// managed.
  private func targetForEmbedding(_ object: EmbeddedObject) -> ManagedClass {
    if object.context != nil {
      Misuse.stop("An embedded object that is already managed cannot be a part of another object too.")
    }
    return managed(type(of: object))
  }

  /// Returns a link to a managed object, or adds an unmanaged object and returns the link to it.
  func link(to object: ObjectBase, _ policy: Realm.UpdatePolicy) -> Value {
    if copies != nil, object.context !== self, !object.holdsValues {
      if let copy = copies?[object] { return link(to: copy, policy) }
      let copy = copy(of: object)
      copies?[object] = copy
      // Not through `link`, which would copy the copy.
      add(copy, policy)
      return link(to: copy, policy)
    }
    if let other = object.context {
      guard other === self, let managed = object.managedClass else {
        Misuse.stop("The object of class '\(ClassSchema.of(type(of: object)).name)' is managed by another realm.")
      }
      if object.isInvalidated { Misuse.stop("A deleted object cannot be linked to or added.") }
      return .link(managed.key, ObjKey(object.objectKey))
    }
    add(object, policy)
    guard let managed = object.managedClass else { return .null }
    return .link(managed.key, ObjKey(object.objectKey))
  }

  /// Returns an unmanaged object with the values of `object`.
  private func copy<T: ObjectBase>(of object: T) -> T {
    let copy = type(of: object).init()
    ValueAssignment.assign(object, to: copy)
    return copy
  }

  /// Turns an unmanaged object into a managed one, with all objects that it links to.
  func add(_ object: ObjectBase, _ policy: Realm.UpdatePolicy) {
    let outer = addPolicy
    addPolicy = policy
    defer { addPolicy = outer }
    let managed = managed(type(of: object))
    guard let schema = managed.schema else { return }
    var values: [(ColKey, Value)] = []
    values.reserveCapacity(schema.properties.count)
    for (index, property) in schema.properties.enumerated() where index != schema.primaryKeyIndex {
      if let plain = property.storageType.plainValue(of: object, at: property.offset) {
        values.append((managed.columnKeys[index], plain.value))
      }
    }
    guard let primaryKey = schema.primaryKey else {
      let wanted = created?.keyWithoutPrimaryKey(self, managed)
      let key = apply { try $0.create(managed.key, key: wanted, values: values) }
      transfer(object, managed, schema, key.value, .rest)
      return
    }
    let key = primaryKey.storageType.plainValue(of: object, at: primaryKey.offset)?.value ?? .null
    if let present = apply({ try $0.objectKey(managed.key, primaryKey: key) }) {
      if policy == .error {
        Misuse.stop(
          "There is already an object of class '\(managed.name)' with the primary key '\(Self.text(of: key))'."
        )
      }
      transfer(object, managed, schema, present.value, copies == nil ? .all : .given)
      return
    }
    let wanted = created?.nextKey()
    let made = apply { try $0.create(managed.key, primaryKey: key, key: wanted, values: values) }
    transfer(object, managed, schema, made.value, .rest)
  }

  /// Fills an embedded object.
  private func fill(_ object: EmbeddedObject, _ managed: ManagedClass, _ key: Int64, isNew: Bool) {
    guard let schema = managed.schema else { return }
    transfer(object, managed, schema, key, isNew || copies == nil ? .all : .given)
  }

  /// The properties that `transfer` stores.
  private enum Transferred {
    case all
    /// Those that were not set when the object was created.
    case rest
    /// Those that the values passed to `create` contain: an existing object keeps its other values.
    case given
  }

  /// Copies the values of an unmanaged object to the managed object that it becomes.
  private func transfer(
    _ object: ObjectBase,
    _ managed: ManagedClass,
    _ schema: ClassSchema,
    _ key: Int64,
    _ transferred: Transferred
  ) {
    var given: Set<Int>?
    if transferred == .given, case .values(let indexes) = object.role { given = indexes }
    object.role = nil
    // Become managed first, so that cyclic links find a managed object.
    object.becomeManaged(by: self, managed, key)
    created?.note(object)
    for (index, property) in schema.properties.enumerated() {
      let isPlain = property.storageType.valueType._rlmIsPlain
      if let given, !given.contains(index) { continue }
      if property.isStored, index != schema.primaryKeyIndex, transferred != .rest || !isPlain {
        property.storageType.transfer(from: object, at: property.offset, to: PropertyPlace(object, index))
      }
    }
    StoragePlace.manage(object, schema.offsets)
  }

  /// Returns a primary key as text for an error message.
  static func text(of key: Value) -> String {
    switch key {
    case .string(let bytes): String(decoding: bytes, as: UTF8.self)
    case .int(let value): "\(value)"
    case .objectID(let id): "\(id)"
    case .uuid(let id): "\(id)"
    default: "nil"
    }
  }
}

extension ObjectBase {
  /// True if the object holds the values of a dictionary or an array passed to `create`.
  fileprivate var holdsValues: Bool { if case .values = role { true } else { false } }
}
