// Ways in for observers.

import RealmPages

extension RealmCollection {
  /// Calls `block` soon with the collection, and again after each commit that changed it, with what changed. `keyPaths`
  /// names the properties whose modifications count; nil stands for all, and for objects that are linked, up to four
  /// links away.
  ///
  /// The calls come where the realm is confined: on its queue or actor, on the main queue, or in the run loop of its
  /// thread, and also from `refresh()`.
  public func observe(
    keyPaths: [String]? = nil,
    _ block: @escaping (RealmCollectionChange<Self>) -> Void
  ) -> NotificationToken {
    let source = _rlmResults.source
    return source.context.observe(CollectionObserver(self, keyPaths, block))
  }
}

extension ThreadConfined where Self: ObjectBase {
  /// Calls `block` after each commit that changed a property of the object, and when it was deleted. `keyPaths` names
  /// the properties that count; nil stands for all. Linked objects do not count.
  public func observe(
    keyPaths: [String]? = nil,
    _ block: @escaping (ObjectChange<Self>) -> Void
  ) -> NotificationToken {
    guard let context else { Misuse.stop("Only objects which are managed by a Realm support change notifications.") }
    return context.observe(ObjectObserver(self, keyPaths, block))
  }
}

extension Realm {
  /// Calls `block` when the realm reads a newer version.
  public func observe(_ block: @escaping NotificationBlock) -> NotificationToken {
    context.observe(RealmObserver(context, block))
  }

  /// Whether a realm with observers moves to the newest version by itself.
  public var autorefresh: Bool {
    get { context.autorefresh }
    nonmutating set { context.autorefresh = newValue }
  }
}
