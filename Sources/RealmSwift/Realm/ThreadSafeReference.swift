// From one thread to another: references that are resolved where they are needed.

import Foundation
import RealmPages

/// A reference to an object or a collection of a realm, which another thread resolves, once, in its own realm. The file
/// keeps the version of the reference for as long as it is not resolved.
public final class ThreadSafeReference<Confined: ThreadConfined>: @unchecked Sendable {
  // Unchecked: frozen values can be read by all threads, and one thread resolves.
  private var frozen: Confined?

  /// Makes a reference to something that a realm manages.
  public init(to threadConfined: Confined) {
    if threadConfined.realm == nil { Misuse.stop("Cannot construct reference to unmanaged object.") }
    if threadConfined.isInvalidated { Misuse.stop("Cannot construct reference to invalidated object.") }
    frozen = threadConfined.isFrozen ? threadConfined : threadConfined.freeze()
  }

  /// Whether it was resolved.
  public var isInvalidated: Bool { frozen == nil }

  fileprivate func resolve(in context: RealmContext) -> Confined? {
    guard let value = frozen else { Misuse.stop("Can only resolve a thread safe reference once.") }
    frozen = nil
    guard let realm = value.realm, realm.context.file === context.file else {
      Misuse.stop("Cannot resolve a thread safe reference in another realm than it was made in.")
    }
    // What the reference stands for may be newer than what the realm reads.
    if realm.context.version > context.version { _ = Misuse.unwrap { try context.refresh() } }
    return value._rlmCounterpart(in: Realm(context))
  }
}

extension Realm {
  /// What a reference stands for in this realm; nil if it was deleted.
  public func resolve<Confined: ThreadConfined>(_ reference: ThreadSafeReference<Confined>) -> Confined? {
    context.checkThread()
    return reference.resolve(in: context)
  }
}

/// A property or parameter that threads hand to each other: each access leads to the realm of the thread that makes it,
/// and is nil once the object or the collection was deleted. The file keeps the version of the last access.
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
  // Unchecked: used under the lock only.
  private var place: (reference: ThreadSafeReference<T>, configuration: Realm.Configuration)?
  private let lock = NSLock()

  /// Takes something that a realm manages.
  public init(wrappedValue: T?) { self.wrappedValue = wrappedValue }

  /// The object or the collection, in the realm of the thread that asks.
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
