// References that pass objects and collections from one thread to another.

import Foundation
import RealmPages

/// A reference to an object or a collection that another thread resolves, once, in its own realm. The file keeps the
/// version of the reference until it is resolved. A reference created in a write transaction resolves to nil until
/// the object is committed.
public final class ThreadSafeReference<Confined: ThreadConfined>: @unchecked Sendable {
  // Unchecked: all threads may read frozen values, and only one thread resolves the reference. Of a value of a write
  // transaction, that thread reads only the class and the key.
  private var value: Confined?

  /// Creates a reference to a managed object or collection.
  public init(to threadConfined: Confined) {
    if threadConfined.realm == nil { Misuse.stop("Cannot construct reference to unmanaged object.") }
    if threadConfined.isInvalidated { Misuse.stop("Cannot construct reference to invalidated object.") }
    let isMovable = threadConfined.isFrozen || threadConfined.realm?.context.isInTransaction == true
    value = isMovable ? threadConfined : threadConfined.freeze()
  }

  /// True if the reference was resolved.
  public var isInvalidated: Bool { value == nil }

  fileprivate func resolve(in context: RealmContext) -> Confined? {
    guard let value else { Misuse.stop("Can only resolve a thread safe reference once.") }
    self.value = nil
    guard let realm = value.realm, realm.context.file === context.file else {
      Misuse.stop("Cannot resolve a thread safe reference in another realm than it was made in.")
    }
    // The referenced object may be newer than the version that the realm reads.
    if !realm.isFrozen || realm.context.version > context.version { _ = Misuse.unwrap { try context.refresh() } }
    return value._rlmCounterpart(in: Realm(context))
  }
}

extension Realm {
  /// Returns the referenced object or collection in this realm; nil if it was deleted.
  public func resolve<Confined: ThreadConfined>(_ reference: ThreadSafeReference<Confined>) -> Confined? {
    context.checkThread()
    return reference.resolve(in: context)
  }
}

/// A property or parameter that may be passed between threads. Each access returns the value in the realm of the
/// accessing thread, or nil if the object or collection was deleted. The file keeps the version of the last access.
///
/// ```swift
/// func rename(_ dog: ThreadSafe<Dog>) {
///   DispatchQueue.global().async {
///     guard let dog = dog.wrappedValue, let realm = dog.realm else { return }
///     try? realm.write { dog.name = "King" }
///   }
/// }
/// ```
@propertyWrapper public final class ThreadSafe<T: ThreadConfined>: @unchecked Sendable {
  // Unchecked: accessed only with the lock held.
  private var place: (reference: ThreadSafeReference<T>, configuration: Realm.Configuration)?
  private let lock = NSLock()

  /// Wraps a managed object or collection.
  public init(wrappedValue: T?) { self.wrappedValue = wrappedValue }

  /// The object or collection in the realm of the accessing thread.
  public var wrappedValue: T? {
    get {
      lock.withLock {
        guard let (reference, configuration) = place else { return nil }
        let value = Misuse.unwrap { try Realm(configuration: configuration) }.resolve(reference)
        place = value.map { (ThreadSafeReference(to: $0), configuration) }
        return value
      }
    }
    set {
      lock.withLock {
        place = newValue.map { value in
          guard let realm = value.realm else { Misuse.stop("Only managed objects may be wrapped as thread safe.") }
          return (ThreadSafeReference(to: value), realm.configuration)
        }
      }
    }
  }
}
