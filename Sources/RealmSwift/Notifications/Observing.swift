// The `observe` methods of realms, collections and objects.

public import Dispatch
import RealmPages
import Synchronization

extension RealmCollection {
  /// Calls `block` asynchronously with the collection, and again after each commit that changed it, with the changes.
  /// `keyPaths` names the properties to observe; nil observes all properties, and linked objects up to four links away.
  ///
  /// `block` is called where the realm is confined: on its queue or actor, on the main queue, or in the run loop of its
  /// thread. `refresh()` calls it too.
  public func observe(
    keyPaths: [String]? = nil,
    _ block: @escaping (RealmCollectionChange<Self>) -> Void
  ) -> NotificationToken {
    let source = _rlmResults.source
    return source.context.observe(CollectionObserver(self, keyPaths, block))
  }
}

extension RealmCollection {
  /// Calls `block` on a serial queue, with the collection in a realm that is confined to the queue.
  public func observe(
    keyPaths: [String]? = nil,
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (RealmCollectionChange<Self>) -> Void
  ) -> NotificationToken {
    RemoteObservation.begin(self, on: queue, block) { $0.observe(keyPaths: keyPaths, $1) }
  }
}

extension RealmCollection where Element: ObjectBase {
  /// Observes the collection; the properties are given as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<Element>],
    _ block: @escaping (RealmCollectionChange<Self>) -> Void
  ) -> NotificationToken {
    observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, block)
  }

  /// Observes the collection on a serial queue; the properties are given as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<Element>],
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (RealmCollectionChange<Self>) -> Void
  ) -> NotificationToken {
    observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: queue, block)
  }
}

extension Map {
  /// Calls `block` asynchronously with the map, and again after each commit that changed it, with the keys of the
  /// changed entries. `keyPaths` names the properties of linked objects to observe; nil observes all properties.
  public func observe(
    keyPaths: [String]? = nil,
    _ block: @escaping (RealmMapChange<Map>) -> Void
  ) -> NotificationToken {
    guard let place else { Misuse.stop("Only managed values support change notifications.") }
    return place.context.observe(MapObserver(self, place, keyPaths, block))
  }

  /// Calls `block` on a serial queue, with the map in a realm that is confined to the queue.
  public func observe(
    keyPaths: [String]? = nil,
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (RealmMapChange<Map>) -> Void
  ) -> NotificationToken {
    RemoteObservation.begin(self, on: queue, block) { $0.observe(keyPaths: keyPaths, $1) }
  }
}

extension Map where Value: OptionalLink {
  /// Observes the map; the properties are given as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<Value.Linked>],
    _ block: @escaping (RealmMapChange<Map>) -> Void
  ) -> NotificationToken {
    observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, block)
  }

  /// Observes the map on a serial queue; the properties are given as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<Value.Linked>],
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (RealmMapChange<Map>) -> Void
  ) -> NotificationToken {
    observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: queue, block)
  }

  /// Observes the map on an actor; the properties are given as key paths.
  public func observe<A: Actor>(
    keyPaths: [PartialKeyPath<Value.Linked>],
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, RealmMapChange<Map>) -> Void
  ) async -> NotificationToken {
    await observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: actor, block)
  }
}

extension ThreadConfined where Self: ObjectBase {
  /// Calls `block` after each commit that changed a property of the object, and when the object is deleted. `keyPaths`
  /// names the properties to observe; nil observes all properties, but not linked objects.
  public func observe(
    keyPaths: [String]? = nil,
    _ block: @escaping (ObjectChange<Self>) -> Void
  ) -> NotificationToken {
    guard let context else { Misuse.stop("Only objects which are managed by a Realm support change notifications.") }
    return context.observe(ObjectObserver(self, keyPaths, block))
  }

  /// Observes the object; `block` receives it as an instance of a base class.
  @_disfavoredOverload
  public func observe<Base: ObjectBase>(
    keyPaths: [String]? = nil,
    _ block: @escaping (ObjectChange<Base>) -> Void
  ) -> NotificationToken {
    observe(keyPaths: keyPaths) { (change: ObjectChange<Self>) in change.of(Base.self).map(block) }
  }

  /// Observes the object; the properties are given as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<Self>],
    _ block: @escaping (ObjectChange<Self>) -> Void
  ) -> NotificationToken {
    observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, block)
  }

  /// Calls `block` on a serial queue, with the object in a realm that is confined to the queue.
  public func observe(
    keyPaths: [String]? = nil,
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (ObjectChange<Self>) -> Void
  ) -> NotificationToken {
    RemoteObservation.begin(self, on: queue, block) { $0.observe(keyPaths: keyPaths, $1) }
  }

  /// Observes the object on a serial queue; `block` receives it as an instance of a base class.
  @_disfavoredOverload
  public func observe<Base: ObjectBase>(
    keyPaths: [String]? = nil,
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (ObjectChange<Base>) -> Void
  ) -> NotificationToken {
    observe(keyPaths: keyPaths, on: queue) { (change: ObjectChange<Self>) in change.of(Base.self).map(block) }
  }
}

extension RealmCollection {
  /// Calls `block` on an actor, with the collection in a realm that is confined to the actor.
  ///
  /// ```swift
  /// let token = await dogs.observe(on: kennel) { kennel, change in kennel.note(change) }
  /// ```
  public func observe<A: Actor>(
    keyPaths: [String]? = nil,
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void
  ) async -> NotificationToken {
    await RemoteObservation.begin(self, on: actor, block) { $0.observe(keyPaths: keyPaths, $1) }
  }
}

extension RealmCollection where Element: ObjectBase {
  /// Observes the collection on an actor; the properties are given as key paths.
  public func observe<A: Actor>(
    keyPaths: [PartialKeyPath<Element>],
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, RealmCollectionChange<Self>) -> Void
  ) async -> NotificationToken {
    await observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: actor, block)
  }
}

extension Map {
  /// Calls `block` on an actor, with the map in a realm that is confined to the actor.
  public func observe<A: Actor>(
    keyPaths: [String]? = nil,
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, RealmMapChange<Map>) -> Void
  ) async -> NotificationToken {
    await RemoteObservation.begin(self, on: actor, block) { $0.observe(keyPaths: keyPaths, $1) }
  }
}

extension ThreadConfined where Self: ObjectBase {
  /// Calls `block` on an actor, with the object in a realm that is confined to the actor.
  public func observe<A: Actor>(
    keyPaths: [String]? = nil,
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
  ) async -> NotificationToken {
    await RemoteObservation.begin(self, on: actor, block) { $0.observe(keyPaths: keyPaths, $1) }
  }

  /// Observes the object on an actor; the properties are given as key paths.
  public func observe<A: Actor>(
    keyPaths: [PartialKeyPath<Self>],
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
  ) async -> NotificationToken {
    await observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: actor, block)
  }
}

/// The change delivered when the realm cannot be opened for an observer; nil if the change type has no error case.
protocol ObservedChange {
  static func failure(_ error: any Error) -> Self?
}

extension RealmCollectionChange: ObservedChange {
  static func failure(_ error: any Error) -> Self? { .error(error) }
}

extension RealmMapChange: ObservedChange {
  static func failure(_ error: any Error) -> Self? { .error(error) }
}

extension ObjectChange: ObservedChange {
  static func failure(_ error: any Error) -> Self? { .error(error) }
}

extension SectionedResultsChange: ObservedChange {
  static func failure(_ error: any Error) -> Self? { nil }
}

/// An observation that was started in one confinement and is delivered in another: on a queue or an actor.
final class RemoteObservation: @unchecked Sendable {
  // Unchecked: all fields but `isOver` are used only in the confinement of the observer.
  private let place: Confinement
  private let start: (Realm) -> NotificationToken?
  private let fail: (any Error) -> Void
  private let configuration: Realm.Configuration
  private var token: NotificationToken?
  private let isOver = Atomic(false)

  private init<T: ThreadConfined, Change: ObservedChange>(
    _ value: T,
    _ place: Confinement,
    _ block: @escaping (Change) -> Void,
    _ observe: @escaping (T, @escaping (Change) -> Void) -> NotificationToken
  ) {
    guard let realm = value.realm else { Misuse.stop("Only managed values support change notifications.") }
    let reference = ThreadSafeReference(to: value)
    (self.place, configuration) = (place, realm.configuration)
    start = { $0.resolve(reference).map { observe($0, block) } }
    fail = { error in Change.failure(error).map(block) }
  }

  /// Creates the observer in its confinement.
  private func begin() {
    if isOver.load(ordering: .acquiring) { return }
    do {
      let context = try Realm.Error.translating { try RealmOpening.context(configuration, place) }
      token = start(Realm(context))
    } catch { fail(error) }
  }

  /// A token that ends the observation from any thread.
  private var outside: NotificationToken {
    let schedule = place.scheduler()
    return NotificationToken {
      self.isOver.store(true, ordering: .releasing)
      schedule { self.token = nil }
    }
  }

  /// Observes the counterpart of `value` in the realm of a queue.
  static func begin<T: ThreadConfined, Change: ObservedChange>(
    _ value: T,
    on queue: DispatchQueue,
    _ block: @escaping (Change) -> Void,
    _ observe: @escaping (T, @escaping (Change) -> Void) -> NotificationToken
  ) -> NotificationToken {
    let observation = RemoteObservation(value, .queue(queue), block, observe)
    queue.async { observation.begin() }
    return observation.outside
  }

  /// Observes the counterpart of `value` in the realm of an actor. The observer exists when this returns.
  static func begin<T: ThreadConfined, A: Actor, Change: ObservedChange>(
    _ value: T,
    on actor: A,
    _ block: @escaping @Sendable (isolated A, Change) -> Void,
    isolation: isolated (any Actor)? = #isolation,
    _ observe: @escaping (T, @escaping (Change) -> Void) -> NotificationToken
  ) async -> NotificationToken {
    if Task.isCancelled { return NotificationToken() }
    let told: (Change) -> Void = { change in
      // Safe: this already runs on the actor.
      @safe nonisolated(unsafe) let change = change
      actor.assumeIsolated { block($0, change) }
    }
    let observation = RemoteObservation(value, .actor(actor), told, observe)
    await Confinement.run(on: actor) { observation.begin() }
    return observation.outside
  }
}

extension Realm {
  /// Calls `block` when the realm moves to a newer version.
  public func observe(_ block: @escaping NotificationBlock) -> NotificationToken {
    context.observe(RealmObserver(context, block))
  }

  /// True if a realm with observers moves to the newest version automatically.
  public var autorefresh: Bool {
    get { context.autorefresh }
    nonmutating set { context.autorefresh = newValue }
  }
}
