// The observers of one realm: each keeps the state that it last reported and reports the differences from a newer
// version.

import Foundation
import RealmPages
import Synchronization

/// An observer of changes. Used where its realm is confined, but may be ended on any thread.
class Observer {
  private let ended = Atomic(false)
  final var isOver: Bool { ended.load(ordering: .acquiring) }
  final func end() { ended.store(true, ordering: .releasing) }

  /// Reports the changes since the last call.
  func deliver() {}
  /// Marks all changes made so far as reported.
  func skip() {}

  /// Returns key paths from a class as lists of property names; nil, for all properties, if there are none. Ends the
  /// process if a class on the path does not have the property. `schema` is nil for collections of values.
  static func paths(_ keyPaths: [String]?, from schema: ClassSchema?) -> [[String]]? {
    guard let keyPaths, !keyPaths.isEmpty else { return nil }
    return keyPaths.map { path in
      let names = path.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
      var schema = schema
      for name in names {
        guard let index = schema?.index(of: name), let property = schema?.properties[index] else {
          let place =
            schema.map { "'\($0.name)' has no property '\(name)'" } ?? "'\(name)' is not a property of an object"
          Misuse.stop("The key path '\(path)' cannot be observed: \(place).")
        }
        schema = property.linkedClass
      }
      return names
    }
  }
}

/// The observers of a realm and the function that schedules their call. Tokens end observers on any thread.
final class ObserverList: @unchecked Sendable {
  // Unchecked: the lock guards all fields.
  private let lock = NSLock()
  private var observers: [Observer] = []
  private var scheduled: (@Sendable () -> Void)?

  /// The current observers.
  var all: [Observer] { lock.withLock { observers } }

  /// Schedules the observers, if any, to be called where the realm is confined.
  func schedule() { lock.withLock { scheduled }?() }

  /// Adds an observer. The first one calls `start`, which returns the function that schedules calls of the observers.
  func add(_ observer: Observer, start: () -> @Sendable () -> Void) {
    lock.withLock {
      observers.append(observer)
      if scheduled == nil { scheduled = start() }
    }
  }

  /// Removes ended observers. Calls `stop` after the last one was removed.
  func removeEnded(stop: () -> Void) {
    // Released outside the lock: objects that observers retain may end other observers.
    let gone = lock.withLock {
      let gone = observers.filter(\.isOver)
      observers.removeAll(where: \.isOver)
      if observers.isEmpty, scheduled != nil {
        scheduled = nil
        stop()
      }
      return gone
    }
    withExtendedLifetime(gone) {}
  }
}

extension RealmContext {
  /// Adds an observer and schedules its first call.
  func observe(_ observer: Observer) -> NotificationToken {
    checkThread()
    if isFrozen { Misuse.stop("Frozen Realms do not change and do not have change notifications.") }
    observers.add(observer) {
      let scheduler = confinement.scheduler()
      // Safe: the scheduler runs the block where the realm is confined.
      @safe nonisolated(unsafe) weak let context = self
      let call: @Sendable () -> Void = { scheduler { context?.deliverChanges() } }
      file.delivery.subscribe(identity, file, call)
      return call
    }
    observers.schedule()
    return NotificationToken(observer) { [self] in
      observer.end()
      observers.removeEnded { file.delivery.unsubscribe(identity) }
    }
  }

  private var identity: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

  /// Moves to the newest version and calls the observers. Does nothing in a write transaction.
  func deliverChanges() {
    if isInTransaction || isDelivering { return }
    isDelivering = true
    defer { isDelivering = false }
    // If the newest version cannot be read now, the observers are called when it can be.
    if autorefresh { _ = try? refresh() }
    for observer in observers.all where !observer.isOver { observer.deliver() }
  }
}

/// Observes a collection.
final class CollectionObserver<C: RealmCollection>: Observer {
  private let collection: C
  private let source: ResultsSource
  private let keyPaths: [[String]]?
  private let block: (RealmCollectionChange<C>) -> Void
  private var last: (hold: VersionHold, contents: CollectionContents)?

  init(_ collection: C, _ keyPaths: [String]?, _ block: @escaping (RealmCollectionChange<C>) -> Void) {
    (self.collection, self.block) = (collection, block)
    source = collection._rlmResults.source
    self.keyPaths = Self.paths(keyPaths, from: source.managedClass?.schema)
  }

  override func skip() {
    // Changes that cannot be read now are reported later.
    guard last != nil, let hold = source.context.hold, let contents = try? contents() else { return }
    last = (hold, contents)
  }

  /// Returns the contents of the collection; none if the owner of the list was deleted.
  private func contents() throws -> CollectionContents {
    source.isInvalidated ? CollectionContents.none : try CollectionContents(source)
  }

  override func deliver() {
    do {
      guard let hold = source.context.hold else { return }
      if let last, last.hold.snapshot.version == hold.snapshot.version { return }
      let contents = try contents(), former = last
      last = (hold, contents)
      guard let former else { return block(.initial(collection)) }
      let changed = try ChangedObjects(from: former.hold, to: hold, source, keyPaths)
      let changes = try contents.changes(since: former.contents, changed)
      if changes.isEmpty { return }
      block(
        .update(
          collection,
          deletions: changes.deletions,
          insertions: changes.insertions,
          modifications: changes.modifications
        )
      )
    } catch {
      end()
      block(.error(error))
    }
  }
}

/// Observes a map.
final class MapObserver<Key: _MapKey, Element: RealmCollectionValue>: Observer {
  private let map: Map<Key, Element>
  private let place: CollectionPlace
  private let source: ResultsSource
  private let keyPaths: [[String]]?
  private let block: (RealmMapChange<Map<Key, Element>>) -> Void
  private var last: (hold: VersionHold, entries: [String: Value])?

  init(
    _ map: Map<Key, Element>,
    _ place: CollectionPlace,
    _ keyPaths: [String]?,
    _ block: @escaping (RealmMapChange<Map<Key, Element>>) -> Void
  ) {
    (self.map, self.place, source, self.block) = (map, place, map._rlmResults.source, block)
    self.keyPaths = Self.paths(keyPaths, from: source.managedClass?.schema)
  }

  override func skip() {
    // Changes that cannot be read now are reported later.
    guard last != nil, let hold = place.context.hold, let entries = try? entries() else { return }
    last = (hold, entries)
  }

  /// Returns the entries of the map; none if its owner was deleted.
  private func entries() throws -> [String: Value] {
    guard !place.isInvalidated, var view = place.dictionary() else { return [:] }
    var entries: [String: Value] = [:]
    for index in 0..<view.count {
      entries[try view.key(at: index).string] = try Value(copying: view.value(at: index))
    }
    return entries
  }

  override func deliver() {
    do {
      guard let hold = place.context.hold else { return }
      if let last, last.hold.snapshot.version == hold.snapshot.version { return }
      let entries = try entries(), former = last
      last = (hold, entries)
      guard let former else { return block(.initial(map)) }
      let changed = try ChangedObjects(from: former.hold, to: hold, source, keyPaths)
      func names(_ names: [String]) -> [Key] { names.sorted().map { Key(_rlmKey: $0) } }
      let deletions = names(former.entries.keys.filter { entries[$0] == nil })
      let insertions = names(entries.keys.filter { former.entries[$0] == nil })
      var modified: [String] = []
      for (name, value) in entries {
        guard let old = former.entries[name] else { continue }
        if old != value {
          modified.append(name)
        } else if case .link(_, let key) = value,
          try changed.contains(key.value)
        {
          modified.append(name)
        }
      }
      if deletions.isEmpty && insertions.isEmpty && modified.isEmpty { return }
      block(.update(map, deletions: deletions, insertions: insertions, modifications: names(modified)))
    } catch {
      end()
      block(.error(error))
    }
  }
}

/// Observes an object.
final class ObjectObserver<T: ObjectBase>: Observer {
  private let object: T
  private let keyPaths: [[String]]?
  private let block: (ObjectChange<T>) -> Void
  private var last: VersionHold?

  init(_ object: T, _ keyPaths: [String]?, _ block: @escaping (ObjectChange<T>) -> Void) {
    (self.object, self.block) = (object, block)
    self.keyPaths = Self.paths(keyPaths, from: object.schema)
    last = object.context?.hold
  }

  override func skip() { last = object.context?.hold }

  override func deliver() {
    guard let context = object.context, let type = object.managedClass, let hold = context.hold else { return }
    let former = last
    last = hold
    if object.isInvalidated {
      end()
      return block(.deleted)
    }
    guard let former, former.snapshot.version != hold.snapshot.version else { return }
    do {
      var changes = try changes(from: former, to: hold, context, type)
      changes += try linkedChanges(from: former, to: hold, context, type).filter { change in
        !changes.contains { $0.name.isExactly(change.name) }
      }
      if !changes.isEmpty { block(.change(object, changes)) }
    } catch {
      end()
      block(.error(error))
    }
  }

  /// Returns the properties through which key paths lead to changed objects.
  private func linkedChanges(
    from old: VersionHold,
    to new: VersionHold,
    _ context: RealmContext,
    _ type: ManagedClass
  ) throws -> [PropertyChange] {
    let source = ResultsSource(context, .table(type))
    var changes: [PropertyChange] = []
    for path in keyPaths ?? [] where path.count > 1 {
      guard let name = path.first, let schema = type.schema, let index = schema.index(of: name) else { continue }
      let property = schema.properties[index]
      guard !changes.contains(where: { $0.name.isExactly(property.name) }),
        try ChangedObjects(from: old, to: new, source, [path]).contains(object.objectKey)
      else { continue }
      let present = property.storage.anyValue(of: object, index)
      changes.append(PropertyChange(name: property.name, oldValue: nil, newValue: present))
    }
    return changes
  }

  private func changes(
    from old: VersionHold,
    to new: VersionHold,
    _ context: RealmContext,
    _ type: ManagedClass
  ) throws -> [PropertyChange] {
    let difference = try VersionDifference(from: old.snapshot, to: new.snapshot)
    guard let table = difference.tables.first(where: { $0.key == type.key }), let schema = type.schema else {
      return []
    }
    let key = ObjKey(object.objectKey)
    let walk = difference.changes(in: table, after: ObjKey(object.objectKey - 1))
    guard case .updated(key, let columns)? = try walk.next(), let before = table.old, let after = table.new else {
      return []
    }
    let cursor = ObjectCursor(before)
    guard try cursor.seek(key) else { return [] }
    var changes: [PropertyChange] = []
    for column in columns {
      guard let index = schema.index(of: after.columns[column].name) else { continue }
      let property = schema.properties[index]
      if let keyPaths, !keyPaths.contains([property.name]), !keyPaths.contains([property.storedName]) { continue }
      var former: Any?
      if let place = table.oldProperty(column) {
        former = AnyRealmValue(try cursor.value(place), in: context)?._rlmAny
        if former is ObjectBase { former = nil }
      }
      let present = property.storage.anyValue(of: object, index)
      changes.append(PropertyChange(name: property.name, oldValue: former, newValue: present))
    }
    return changes
  }
}

/// Observes a realm.
final class RealmObserver: Observer {
  private unowned let context: RealmContext
  private let block: Realm.NotificationBlock
  private var last: UInt64

  init(_ context: RealmContext, _ block: @escaping Realm.NotificationBlock) {
    (self.context, self.block, last) = (context, block, context.version)
  }

  override func skip() { last = context.version }

  override func deliver() {
    if context.version != last {
      last = context.version
      block(.didChange, Realm(context))
    } else if !context.autorefresh, let hold = context.hold, context.file.reader.hasChanged(since: hold.snapshot) {
      block(.refreshRequired, Realm(context))
    }
  }
}
