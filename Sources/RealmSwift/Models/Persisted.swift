// A property of a model. The storage holds the value of an unmanaged object; in a managed object it holds the position
// of the property in its class, and the value is read from the realm.

/// Makes a property of a model class persistent.
@propertyWrapper public struct Persisted<Value: _Persistable> {
  /// What an unmanaged object has; nothing that counts in a managed one.
  @usableFromInline enum State {
    case initial((() -> Value)?)
    case value(Value)
    /// The default value, of an object that only records which properties are read.
    case tracing((() -> Value)?)
    /// The property of the linking class, of linking objects.
    case origin(String)
  }

  // Programs that keep many objects read the least memory if this is small.
  @usableFromInline var place = StoragePlace()
  @usableFromInline var isPrimaryKey = false
  @usableFromInline var isIndexed = false
  @usableFromInline var state: State

  /// A property with the default value of its type.
  @inlinable public init() { state = .initial(nil) }

  /// A property with a default value.
  @inlinable public init(wrappedValue: @autoclosure @escaping () -> Value) { state = .initial(wrappedValue) }

  /// Not accessible: models are classes.
  @available(*, unavailable, message: "@Persisted is for properties of Object and EmbeddedObject classes")
  public var wrappedValue: Value {
    get { Misuse.stop("@Persisted is for properties of Object and EmbeddedObject classes") }
    // swift-format-ignore: UseSingleLinePropertyGetter
    set { Misuse.stop("@Persisted is for properties of Object and EmbeddedObject classes") }
  }

  /// Reads and writes the property of an object.
  public static subscript<Enclosing: ObjectBase>(
    _enclosingInstance object: Enclosing,
    wrapped _: ReferenceWritableKeyPath<Enclosing, Value>,
    storage storage: ReferenceWritableKeyPath<Enclosing, Self>
  ) -> Value {
    // Inlined into the property, where the compiler knows the key path and reads the storage without it.
    @inlinable @inline(__always) get {
      let place = object[keyPath: storage].place
      if place.isManaged { return Value._rlmGet(PropertyPlace(object, place.property)) }
      return object[keyPath: storage].unmanagedValue(of: object)
    }
    @inlinable @inline(__always) set {
      let place = object[keyPath: storage].place
      if place.isManaged { return Value._rlmSet(PropertyPlace(object, place.property), newValue) }
      object[keyPath: storage].state = .value(newValue)
    }
  }

  /// The value of an object that is not managed.
  @usableFromInline mutating func unmanagedValue(of object: ObjectBase) -> Value {
    guard case .tracing(let make) = state else { return settle() }
    object.tracer?.record(ClassSchema.of(type(of: object)).properties[place.property])
    return Value._rlmTraced(PropertyPlace(object, place.property)) ?? make?() ?? Value._rlmDefault()
  }

  /// Whether the object is unmanaged, so that the storage has its value, or will.
  var holdsValue: Bool { if case .tracing = state { false } else { !place.isManaged } }

  /// The value of an unmanaged object, which is made now if it was not asked for before.
  mutating func settle() -> Value {
    switch state {
    case .value(let value): return value
    case .initial(let make):
      let value = make?() ?? Value._rlmDefault()
      state = .value(value)
      return value
    case .tracing, .origin: return Value._rlmDefault()
    }
  }
}

/// Which property of its class a storage is, and whether its object is managed. Like `Int32`, so that it can be set
/// where the type of the property is not known.
@usableFromInline struct StoragePlace {
  /// The position in `ClassSchema.properties`; in an unmanaged object plus `Int32.min`.
  @usableFromInline let position: Int32

  /// The place of an unmanaged object, for now without a property.
  @inlinable init() { position = .min }

  init(_ property: Int, isManaged: Bool) { position = Int32(property) + (isManaged ? 0 : .min) }

  @inlinable var isManaged: Bool { position >= 0 }
  @inlinable var property: Int { Int(position & .max) }
}

extension Persisted where Value.PersistedType: _PrimaryKey {
  /// The primary key.
  public init(primaryKey: Bool) {
    self.init()
    isPrimaryKey = primaryKey
  }

  /// The primary key, with a default value.
  public init(wrappedValue: @autoclosure @escaping () -> Value, primaryKey: Bool) {
    state = .initial(wrappedValue)
    isPrimaryKey = primaryKey
  }
}

extension Persisted where Value.PersistedType: _Indexable {
  /// A property with a search index.
  public init(indexed: Bool) {
    self.init()
    isIndexed = indexed
  }

  /// A property with a search index and a default value.
  public init(wrappedValue: @autoclosure @escaping () -> Value, indexed: Bool) {
    state = .initial(wrappedValue)
    isIndexed = indexed
  }
}

extension Persisted where Value: LinkingObjectsProtocol {
  /// The objects that link to this one through their property `originProperty`.
  public init(originProperty: String) { state = .origin(originProperty) }
}
