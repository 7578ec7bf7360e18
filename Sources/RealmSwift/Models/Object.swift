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
