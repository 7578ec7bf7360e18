// Access to the storage of a property of unknown type, through its offset in the object, which is found once per class.

/// The type of a stored property declared `@Persisted`.
protocol PropertyStorage {
  static var valueType: any _Persistable.Type { get }
  static func declaration(in object: ObjectBase, at offset: Int) -> PropertyDeclaration
  static func trace(_ object: ObjectBase, at offset: Int, _ index: Int)
  /// Returns the value of an unmanaged object as the engine stores it; nil if it is not a single scalar value.
  static func plainValue(of object: ObjectBase, at offset: Int) -> EngineValue?
  /// Stores the value of an unmanaged object in the managed object that it has become.
  static func transfer(from object: ObjectBase, at offset: Int, to place: PropertyPlace)
  /// Returns the value of an unmanaged object.
  static func plainAny(of object: ObjectBase, at offset: Int) -> Any?
  /// Sets the value of an unmanaged object. Returns false if the value has the wrong type.
  static func setPlain(_ value: Any?, of object: ObjectBase, at offset: Int) -> Bool
  static func managedValue(_ place: PropertyPlace) -> Any?
  static func setManaged(_ value: Any?, _ place: PropertyPlace) -> Bool
}

/// The arguments of a property declaration, without its type.
struct PropertyDeclaration: Sendable {
  let isPrimaryKey: Bool
  let isIndexed: Bool
  let originProperty: String?
}

extension StoragePlace {
  /// Turns the storages of an unmanaged object into those of a managed one. The place is the first field of each
  /// storage.
  static func manage(_ object: ObjectBase, _ offsets: [Int]) {
    let start = unsafe Unmanaged.passUnretained(object).toOpaque()
    for (index, offset) in offsets.enumerated() {
      unsafe (start + offset).storeBytes(of: StoragePlace(index, isManaged: true), as: StoragePlace.self)
    }
  }
}

extension Persisted: PropertyStorage {
  static var valueType: any _Persistable.Type { Value.self }

  /// Returns the storage of an object at an offset. `ClassSchema` found the type and the offset together.
  private static func pointer(_ object: ObjectBase, _ offset: Int) -> UnsafeMutablePointer<Persisted> {
    unsafe (Unmanaged.passUnretained(object).toOpaque() + offset).assumingMemoryBound(to: Persisted.self)
  }

  static func declaration(in object: ObjectBase, at offset: Int) -> PropertyDeclaration {
    let storage = unsafe pointer(object, offset).pointee
    var origin: String?
    if case .origin(let name) = storage.state { origin = name }
    return PropertyDeclaration(isPrimaryKey: storage.isPrimaryKey, isIndexed: storage.isIndexed, originProperty: origin)
  }

  static func trace(_ object: ObjectBase, at offset: Int, _ index: Int) {
    let storage = unsafe pointer(object, offset)
    unsafe storage.pointee.place = StoragePlace(index, isManaged: false)
    let state = unsafe storage.pointee.state
    if case .value(let value) = state {
      unsafe storage.pointee.state = .tracing(value)
    } else {
      unsafe storage.pointee.state = .tracing(nil)
    }
  }

  // Specialized for the most frequently written types, to avoid generic dispatch.
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == Double)
  @_specialize(where Value == String)
  static func plainValue(of object: ObjectBase, at offset: Int) -> EngineValue? {
    guard Value._rlmIsPlain else { return nil }
    return unsafe pointer(object, offset).pointee.settle()._rlmPlain()
  }

  static func transfer(from object: ObjectBase, at offset: Int, to place: PropertyPlace) {
    let value = unsafe pointer(object, offset).pointee.settle()
    unsafe pointer(object, offset).pointee.state = .unset
    Value._rlmSet(place, value)
    Value._rlmBind(value, to: place)
  }

  static func plainAny(of object: ObjectBase, at offset: Int) -> Any? {
    unsafe pointer(object, offset).pointee.settle()._rlmAny
  }

  static func setPlain(_ value: Any?, of object: ObjectBase, at offset: Int) -> Bool {
    guard let value = Value._rlmCast(value) else { return false }
    if Value._rlmIsCollection {
      Value._rlmFill(unsafe pointer(object, offset).pointee.settle(), value)
    } else {
      unsafe pointer(object, offset).pointee.state = .value(value)
    }
    return true
  }

  static func managedValue(_ place: PropertyPlace) -> Any? { Value._rlmGet(place)._rlmAny }

  static func setManaged(_ value: Any?, _ place: PropertyPlace) -> Bool {
    guard let value = Value._rlmCast(value) else { return false }
    Value._rlmSet(place, value)
    return true
  }
}
