// The common part of top-level and embedded objects. An object is either unmanaged and owns its values, or managed and
// represents an object of a realm.

/// The base class of `Object`, `EmbeddedObject` and `AsymmetricObject`.
@safe open class ObjectBase: Hashable, CustomStringConvertible {
  // Safe: `keeper` retains the realm and thereby the class that `borrowedClass` refers to.
  // The fields below skip the run-time check for exclusive access, which would take as long as reading a number. No
  // function passes these fields inout. A managed object is used by one thread or does not change.
  /// Retains the realm of a managed object: the realm itself, or a keeper shared by many objects.
  @safe @exclusivity(unchecked) final private var keeper: AnyObject?
  /// The object's class in that realm. It exists as long as the realm.
  @exclusivity(unchecked) final private var borrowedClass: Borrowed<ManagedClass>?
  /// The key of the object in its table.
  @safe @exclusivity(unchecked) final private(set) var objectKey = ObjectBase.noKey
  /// The purpose of an unmanaged object that the library created for its own use; nil for other objects.
  final var role: Role?

  /// The purpose of an unmanaged object that the library creates.
  enum Role {
    /// Records the properties that are read while a key path is being resolved to property names.
    case tracing(PropertyTracer)
    /// Holds the values passed to `create`. The indexes are those of the properties that have a value.
    case values(Set<Int>)
  }

  final var tracer: PropertyTracer? { if case .tracing(let tracer) = role { tracer } else { nil } }

  static var noKey: Int64 { -1 }

  /// Creates an unmanaged object with the default values of its properties.
  public required init() {}

  /// Creates an unmanaged object. `value` is a dictionary of property names, an array with one value for each property
  /// in order, or another object.
  public convenience init(value: Any) {
    self.init()
    ValueAssignment.assign(value, to: self)
  }

  /// The class of a managed object in its realm.
  final var managedClass: ManagedClass? { unsafe borrowedClass?.object }

  /// The realm of a managed object.
  final var context: RealmContext? { unsafe borrowedClass?.with { $0.withContext { $0 } } }

  /// Makes this instance represent an object of a realm. `keeper` is that realm, or retains it.
  @inline(__always)
  final func becomeManaged(by keeper: AnyObject, _ managed: ManagedClass, _ key: Int64) {
    self.keeper = keeper
    unsafe borrowedClass = Borrowed(managed)
    objectKey = key
  }

  /// Updates the key of the represented object after it has changed; `noKey` means that the object was deleted.
  final func move(to key: Int64) { objectKey = key }

  /// Calls `body` with the class of a managed object.
  @inline(__always)
  final func withClass<R>(_ body: (ManagedClass) -> R) -> R {
    guard let borrowedClass = unsafe borrowedClass else { Misuse.stop("the object is not managed") }
    return unsafe borrowedClass.with(body)
  }

  /// The realm that manages the object; nil for an unmanaged object.
  public final var realm: Realm? { context.map { Realm($0) } }

  /// True if the object was deleted from its realm, or the realm was invalidated.
  public final var isInvalidated: Bool {
    guard let context, let managedClass else { return false }
    return !context.contains(managedClass, objectKey)
  }

  /// True if the object belongs to a frozen realm and never changes.
  public final var isFrozen: Bool { context?.isFrozen ?? false }

  /// The schema of the object's class; for a dynamic object, of the class that it represents.
  final var schema: ClassSchema { managedClass?.schema ?? ClassSchema.of(type(of: self)) }

  /// The schema of the object's class.
  public final var objectSchema: ObjectSchema { ObjectSchema(schema) }

  /// The value of the property with this name. Setting it on a managed object requires a write transaction.
  public subscript(key: String) -> Any? {
    get {
      guard let index = schema.index(of: key) else { Misuse.stop("\(schema.name) has no property '\(key)'") }
      return schema.properties[index].storage.anyValue(of: self, index)
    }
    set { ValueAssignment.set(key, to: newValue, of: self) }
  }

  /// The schema of the class.
  public static func sharedSchema() -> ObjectSchema? { ObjectSchema(ClassSchema.of(self)) }

  /// Returns the value of the property with this name.
  public final func value(forKey key: String) -> Any? { self[key] }

  /// Returns the value of a property of this object or of an object that it links to, as in `dog.name`.
  public final func value(forKeyPath keyPath: String) -> Any? {
    guard let point = keyPath.firstIndex(of: ".") else { return self[keyPath] }
    return (self[String(keyPath[..<point])] as? ObjectBase)?
      .value(forKeyPath: String(keyPath[keyPath.index(after: point)...]))
  }

  /// Sets a property of this object or of an object that it links to.
  public final func setValue(_ value: Any?, forKeyPath keyPath: String) {
    guard let point = keyPath.firstIndex(of: ".") else { return self[keyPath] = value }
    (self[String(keyPath[..<point])] as? ObjectBase)?
      .setValue(value, forKeyPath: String(keyPath[keyPath.index(after: point)...]))
  }

  /// Sets the property with this name.
  public final func setValue(_ value: Any?, forKey key: String) { self[key] = value }

  // MARK: class customization

  /// The name of the primary key property, for classes that do not declare `@Persisted(primaryKey: true)`.
  open class func primaryKey() -> String? { nil }
  /// The names of indexed properties, in addition to those declared with `@Persisted(indexed: true)`.
  open class func indexedProperties() -> [String] { [] }
  /// The names of `@Persisted` properties that are not stored.
  open class func ignoredProperties() -> [String] { [] }
  /// The stored names of properties, for properties that are stored under another name.
  open class func propertiesMapping() -> [String: String] { [:] }
  /// True if realms opened without `objectTypes` include this class.
  open class func shouldIncludeInDefaultSchema() -> Bool { true }
  /// The stored name of the class; nil to use the Swift name.
  open class func _realmObjectName() -> String? { nil }

  /// Returns the name of the class in the realm.
  public static func className() -> String { ClassSchema.of(self).name }

  // MARK: identity

  /// Returns true if the two are the same object of a realm, or the same instance of an unmanaged object.
  public final func isSameObject(as other: ObjectBase?) -> Bool { other.map { $0 == self } ?? false }

  /// Returns true if the two are the same object of the same realm, or the same instance.
  public static func == (a: ObjectBase, b: ObjectBase) -> Bool {
    if a === b { return true }
    guard let context = a.context, let other = b.context, let left = a.managedClass, let right = b.managedClass else {
      return false
    }
    return context.isSameRealm(as: other) && left.key == right.key && a.objectKey == b.objectKey
  }

  /// Hashes the identity that `==` compares.
  public final func hash(into hasher: inout Hasher) {
    if context == nil { hasher.combine(ObjectIdentifier(self)) } else { hasher.combine(objectKey) }
  }

  /// The class and the properties of the object and of the objects that it links to.
  open var description: String { Description.text(of: self, depth: 0) }
}
