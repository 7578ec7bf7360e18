// The property wrapper of model properties. In an unmanaged object the storage holds the value; in a managed object it
// holds the position of the property in its class, and the value is read from the realm.

/// Makes a property of a model class persistent.
@propertyWrapper public struct Persisted<Value: _Persistable> {
  /// The value in an unmanaged object; unused in a managed one.
  @usableFromInline enum State {
    /// The default value of the type, which is created on first use.
    case unset
    case value(Value)
    /// In an object that only records which properties are read: the default value, or nil for that of the type.
    case tracing(Value?)
    /// The name of the property in the linking class, for linking objects.
    case origin(String)
  }

  // Kept small: it determines the memory use of programs that hold many objects.
  @usableFromInline var place = StoragePlace()
  @usableFromInline var isPrimaryKey = false
  @usableFromInline var isIndexed = false
  @usableFromInline var state: State

  /// Creates a property with the default value of its type.
  @inlinable public init() { state = .unset }

  /// Creates a property with a default value, or with the value that an initializer assigns before `super.init()`.
  @inlinable public init(wrappedValue: Value) { state = .value(wrappedValue) }

  /// Unavailable: models are classes.
  @available(*, unavailable, message: "@Persisted is for properties of Object and EmbeddedObject classes")
  public var wrappedValue: Value {
    get { Misuse.stop("@Persisted is for properties of Object and EmbeddedObject classes") }
    // swift-format-ignore: UseSingleLinePropertyGetter
    set { Misuse.stop("@Persisted is for properties of Object and EmbeddedObject classes") }
  }

  /// Accesses the property of an object.
  public static subscript<Enclosing: ObjectBase>(
    _enclosingInstance object: Enclosing,
    wrapped _: ReferenceWritableKeyPath<Enclosing, Value>,
    storage storage: ReferenceWritableKeyPath<Enclosing, Self>
  ) -> Value {
    // Inlined into the property, where the compiler knows the key path and can access the storage directly.
    @inlinable @inline(__always) get {
      let place = object[keyPath: storage].place
      if place.isManaged { return Value._rlmGet(PropertyPlace(object, place.property)) }
      return object[keyPath: storage].unmanagedValue(of: object)
    }
    @inlinable @inline(__always) set {
      let place = object[keyPath: storage].place
      if place.isManaged { return Value._rlmSet(PropertyPlace(object, place.property), newValue) }
      if Value._rlmIsCollection { return Value._rlmFill(object[keyPath: storage].unmanagedValue(of: object), newValue) }
      object[keyPath: storage].state = .value(newValue)
    }
  }

  /// Returns the value in an unmanaged object.
  @usableFromInline mutating func unmanagedValue(of object: ObjectBase) -> Value {
    guard case .tracing(let value) = state else { return settle() }
    object.tracer?.record(ClassSchema.of(type(of: object)).properties[place.property])
    return Value._rlmTraced(PropertyPlace(object, place.property)) ?? value ?? Value._rlmDefault()
  }

  /// True if the object is unmanaged, so that the storage holds the value or creates it on first use.
  var holdsValue: Bool { if case .tracing = state { false } else { !place.isManaged } }

  /// Returns the value in an unmanaged object; creates it on first use.
  mutating func settle() -> Value {
    switch state {
    case .value(let value): return value
    case .unset:
      let value = Value._rlmDefault()
      state = .value(value)
      return value
    case .tracing, .origin: return Value._rlmDefault()
    }
  }
}

/// Identifies the property of a storage within its class, and whether the object is managed. Has the layout of `Int32`,
/// so that it can be set without knowing the type of the property.
@usableFromInline struct StoragePlace {
  /// The position in `ClassSchema.properties`; offset by `Int32.min` in an unmanaged object.
  @usableFromInline let position: Int32

  /// Creates the place of a property of an unmanaged object, before the property is known.
  @inlinable init() { position = .min }

  init(_ property: Int, isManaged: Bool) { position = Int32(property) + (isManaged ? 0 : .min) }

  @inlinable var isManaged: Bool { position >= 0 }
  @inlinable var property: Int { Int(position & .max) }
}

extension Persisted where Value.PersistedType: _PrimaryKey {
  /// Creates the primary key property.
  public init(primaryKey: Bool) {
    self.init()
    isPrimaryKey = primaryKey
  }

  /// Creates the primary key property with a default value.
  public init(wrappedValue: Value, primaryKey: Bool) {
    state = .value(wrappedValue)
    isPrimaryKey = primaryKey
  }
}

extension Persisted where Value.PersistedType: _Indexable {
  /// Creates a property with a search index.
  public init(indexed: Bool) {
    self.init()
    isIndexed = indexed
  }

  /// Creates a property with a search index and a default value.
  public init(wrappedValue: Value, indexed: Bool) {
    state = .value(wrappedValue)
    isIndexed = indexed
  }
}

extension Persisted where Value: LinkingObjectsProtocol {
  /// Creates a property that contains the objects that link to this object through their property `originProperty`.
  public init(originProperty: String) { state = .origin(originProperty) }
}
