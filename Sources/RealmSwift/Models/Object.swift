// The base classes of models.

/// The base class of models whose objects exist independently of other objects.
///
/// ```swift
/// class Dog: Object {
///   @Persisted(primaryKey: true) var _id: ObjectId
///   @Persisted var name = ""
///   @Persisted var age = 0
/// }
/// ```
open class Object: ObjectBase {
  /// Creates an unmanaged object with the default values of its properties.
  public required init() { super.init() }
}

/// The base class of models whose objects are part of one other object and are deleted with it.
open class EmbeddedObject: ObjectBase {
  /// Creates an unmanaged object with the default values of its properties.
  public required init() { super.init() }
}

/// The base class of write-only models: a sync session uploads each object and removes it from the realm. These objects
/// can link only to embedded objects, and no object can link to them. They need flexible sync: opening a local realm
/// with such a class fails.
open class AsymmetricObject: ObjectBase {
  /// Creates an unmanaged object with the default values of its properties.
  public required init() { super.init() }
}
