// Walking through a collection. What is done for each object is inlined where the class is known.

import RealmPages

/// The elements of a collection of a realm, one after another.
public struct RLMIterator<Element: RealmCollectionValue>: IteratorProtocol {
  @usableFromInline enum Source {
    /// Objects whose class is `Element`.
    case objects(ObjectStream)
    case elements(AnyIterator<Element>)
  }

  @usableFromInline let source: Source

  init(_ elements: AnyIterator<Element>) { source = .elements(elements) }

  /// The objects of a stream, whose class is `Element`.
  init(_ objects: ObjectStream) { source = .objects(objects) }

  /// The next element; nil behind the last one.
  @inlinable public mutating func next() -> Element? {
    switch source {
    case .objects(let stream): stream.next().map { unsafeBitCast($0, to: Element.self) }
    case .elements(let elements): elements.next()
    }
  }
}

/// The objects of a class, from a walk over all of them or by their keys.
@usableFromInline final class ObjectStream {
  private let context: RealmContext
  private let type: ManagedClass
  private let schema: ClassSchema
  private let walk: ObjectWalk?
  private var keys: IndexingIterator<[Int64]>

  init(_ context: RealmContext, _ type: ManagedClass, _ schema: ClassSchema, _ walk: ObjectWalk) {
    (self.context, self.type, self.schema) = (context, type, schema)
    (self.walk, keys) = (walk, [].makeIterator())
  }

  init(_ context: RealmContext, _ type: ManagedClass, _ schema: ClassSchema, _ keys: [Int64]) {
    (self.context, self.type, self.schema) = (context, type, schema)
    (walk, self.keys) = (nil, keys.makeIterator())
  }

  @usableFromInline func next() -> ObjectBase? {
    guard let key = nextKey() else { return nil }
    let object = schema.type.init()
    context.bind(object, to: type, schema, key)
    return object
  }

  @inline(__always)
  private func nextKey() -> Int64? {
    guard let walk else { return keys.next() }
    do { return try walk.next() ? walk.key.value : nil } catch { Misuse.stop("\(error)") }
  }
}
