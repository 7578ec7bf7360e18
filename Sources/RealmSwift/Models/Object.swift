// The classes that models derive from.

/// The base class of models that stand for themselves.
///
/// ```swift
/// class Dog: Object {
///   @Persisted(primaryKey: true) var _id: ObjectId
///   @Persisted var name = ""
///   @Persisted var age = 0
/// }
/// ```
open class Object: ObjectBase {
  /// Makes an unmanaged object with the default values of its properties.
  public required init() { super.init() }
}

/// The base class of models that are part of one other object and are deleted with it.
open class EmbeddedObject: ObjectBase {
  /// Makes an unmanaged object with the default values of its properties.
  public required init() { super.init() }
}

/// The base class of models that are only written: a sync session uploads each object and removes it from the realm.
/// Their links lead to embedded objects only, and nothing links to them. Only realms with flexible sync have such
/// classes: a local realm does not open with one.
open class AsymmetricObject: ObjectBase {
  /// Makes an unmanaged object with the default values of its properties.
  public required init() { super.init() }
}
