// A property of a model. The storage holds the value of an unmanaged object; in a managed object it holds the position
// of the property in its class, and the value is read from the realm.

/// Makes a property of a model class persistent.
@propertyWrapper public struct Persisted<Value: _Persistable> {
  enum State {
    case initial((() -> Value)?)
    case value(Value)
    /// The position in `ClassSchema.properties`.
    case managed(Int)
    /// The same, of an object that only records which properties are read.
    case tracing(Int, (() -> Value)?)
  }

  var state: State
  var declaration = PropertyDeclaration()

  /// A property with the default value of its type.
  public init() { state = .initial(nil) }

  /// A property with a default value.
  public init(wrappedValue: @autoclosure @escaping () -> Value) { state = .initial(wrappedValue) }

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
    get {
      if let type = object.managedClass, let index = type.index(of: storage) {
        return Value._rlmGet(PropertyPlace(object, index))
      }
      return value(of: object, storage)
    }
    set {
      if case .managed(let index) = object[keyPath: storage].state {
        Value._rlmSet(PropertyPlace(object, index), newValue)
      } else {
        object[keyPath: storage].state = .value(newValue)
      }
    }
  }

  /// The value by the state of the storage.
  @inline(never)
  private static func value<Enclosing: ObjectBase>(
    of object: Enclosing,
    _ storage: ReferenceWritableKeyPath<Enclosing, Self>
  ) -> Value {
    switch object[keyPath: storage].state {
    case .value(let value): return value
    case .managed(let index):
      object.managedClass?.note(storage, index)
      return Value._rlmGet(PropertyPlace(object, index))
    case .initial: return object[keyPath: storage].settle()
    case .tracing(let index, let make):
      object.tracer?.record(ClassSchema.of(type(of: object)).properties[index])
      return Value._rlmTraced(PropertyPlace(object, index)) ?? make?() ?? Value._rlmDefault()
    }
  }

  /// Whether the storage has a value, or will.
  var holdsValue: Bool {
    switch state {
    case .initial, .value: true
    case .managed, .tracing: false
    }
  }

  /// The value of an unmanaged object, which is made now if it was not asked for before.
  mutating func settle() -> Value {
    switch state {
    case .value(let value): return value
    case .initial(let make):
      let value = make?() ?? Value._rlmDefault()
      state = .value(value)
      return value
    case .managed, .tracing: return Value._rlmDefault()
    }
  }
}

/// What a declaration says besides the type.
struct PropertyDeclaration: Sendable {
  var isPrimaryKey = false
  var isIndexed = false
  var originProperty: String?
}

extension Persisted where Value.PersistedType: _PrimaryKey {
  /// The primary key.
  public init(primaryKey: Bool) {
    self.init()
    declaration.isPrimaryKey = primaryKey
  }

  /// The primary key, with a default value.
  public init(wrappedValue: @autoclosure @escaping () -> Value, primaryKey: Bool) {
    state = .initial(wrappedValue)
    declaration.isPrimaryKey = primaryKey
  }
}

extension Persisted where Value.PersistedType: _Indexable {
  /// A property with a search index.
  public init(indexed: Bool) {
    self.init()
    declaration.isIndexed = indexed
  }

  /// A property with a search index and a default value.
  public init(wrappedValue: @autoclosure @escaping () -> Value, indexed: Bool) {
    state = .initial(wrappedValue)
    declaration.isIndexed = indexed
  }
}

extension Persisted where Value: LinkingObjectsProtocol {
  /// The objects that link to this one through their property `originProperty`.
  public init(originProperty: String) {
    self.init()
    declaration.originProperty = originProperty
  }
}
