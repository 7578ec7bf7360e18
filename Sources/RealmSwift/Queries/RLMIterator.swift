// Iteration over collections. The work for each object is inlined where its class is known.

import RealmPages

/// Iterates over the elements of a realm collection.
public struct RLMIterator<Element: RealmCollectionValue>: IteratorProtocol {
  @usableFromInline enum Source {
    /// Objects whose class is `Element`.
    case objects(ObjectStream)
    case elements(AnyIterator<Element>)
  }

  @usableFromInline let source: Source

  init(_ elements: AnyIterator<Element>) { source = .elements(elements) }

  /// Creates an iterator over a stream of objects of the class `Element`.
  init(_ objects: ObjectStream) { source = .objects(objects) }

  /// Returns the next element; nil after the last one.
  @inlinable public mutating func next() -> Element? {
    switch source {
    case .objects(let stream): stream.next().map { unsafe unsafeBitCast($0, to: Element.self) }
    case .elements(let elements): elements.next()
    }
  }
}

/// The objects of a class, from a walk over all of them or from a list of keys.
@safe @usableFromInline final class ObjectStream {
  // Safe: `walk` retains the cursor.
  private let keeper: RealmContext.RealmRetainer
  private let type: ManagedClass
  private let schema: ClassSchema
  private let walk: ObjectWalk?
  /// The cursor of the walk.
  private let cursor: Borrowed<ObjectCursor>?
  private var keys: IndexingIterator<[Int64]>

  init(_ context: RealmContext, _ type: ManagedClass, _ schema: ClassSchema, _ walk: ObjectWalk) {
    (keeper, self.type, self.schema) = (RealmContext.RealmRetainer(context), type, schema)
    unsafe (self.walk, cursor, keys) = (walk, Borrowed(walk.cursor), [].makeIterator())
  }

  init(_ context: RealmContext, _ type: ManagedClass, _ schema: ClassSchema, _ keys: [Int64]) {
    (keeper, self.type, self.schema) = (RealmContext.RealmRetainer(context), type, schema)
    unsafe (walk, cursor, self.keys) = (nil, nil, keys.makeIterator())
  }

  @usableFromInline @_effects(releasenone) func next() -> ObjectBase? {
    guard let key = nextKey() else { return nil }
    let object = schema.type.init()
    object.becomeManaged(by: keeper, type, key)
    StoragePlace.manage(object, schema.offsets)
    return object
  }

  @inline(__always)
  private func nextKey() -> Int64? {
    guard let cursor = unsafe cursor else { return keys.next() }
    return unsafe cursor.with { cursor in
      do { return try cursor.nextKey() } catch { Misuse.stop("\(error)") }
    }
  }
}
