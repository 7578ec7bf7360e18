// The public realm type, and the registry of the realms that are open in this process.

public import Foundation
import RealmPages
import Glibc
import Synchronization

/// A realm that is open on one thread, on one queue or for one actor.
///
/// ```swift
/// let realm = try Realm()
/// try realm.write {
///   realm.add(Dog(value: ["name": "Rex", "age": 3]))
/// }
/// let old = realm.objects(Dog.self).where { $0.age > 2 }
/// ```
public struct Realm {
  let context: RealmContext

  init(_ context: RealmContext) { self.context = context }

  // MARK: opening

  /// Opens the default realm.
  public init() throws { try self.init(configuration: .defaultConfiguration) }

  /// Opens a realm; creates the file if it does not exist. Returns the same instance each time it is opened on the same
  /// thread. A synced realm that is opened for the first time is downloaded until the model classes exist; its objects
  /// arrive later.
  public init(configuration: Configuration) throws {
    self.init(try Realm.Error.translating { try RealmOpening.context(configuration) })
  }

  /// Opens the realm in a file.
  public init(fileURL: URL) throws {
    var configuration = Configuration.defaultConfiguration
    configuration.fileURL = fileURL
    try self.init(configuration: configuration)
  }

  /// The configuration that the realm was opened with.
  public var configuration: Configuration { context.configuration }

  /// The classes that the realm was opened with.
  public var schema: Schema { Schema(objectSchema: context.wanted.classes.map { ObjectSchema($0) }) }

  /// True if the realm contains no objects of its classes.
  public var isEmpty: Bool {
    context.checkThread()
    return context.wanted.classes.allSatisfy { schema in
      Misuse.unwrap { try context.current(context.managed(schema)).table.objectCount } == 0
    }
  }

  // MARK: write transactions

  /// True if a write transaction has begun.
  public var isInWriteTransaction: Bool {
    context.checkThread()
    return context.isInTransaction
  }

  /// Runs `block` in a write transaction and returns its result. If `block` throws, nothing is changed. Waits for
  /// writers in other threads and programs. The observers of `tokens`, which must belong to this realm, are not
  /// notified of the changes.
  @discardableResult
  public func write<Result>(
    withoutNotifying tokens: [NotificationToken] = [],
    _ block: () throws -> Result
  ) throws -> Result {
    try context.begin()
    let result: Result
    do { result = try block() } catch {
      context.cancel()
      throw error
    }
    if context.isInTransaction { try commitWrite(withoutNotifying: tokens) }
    return result
  }

  /// Begins a write transaction. Waits for other writers without a time limit; ends the process if the transaction
  /// cannot begin. The thread keeps the realm open until the transaction ends.
  public func beginWrite() {
    Misuse.unwrap { try context.begin(staysOnThread: false, timeout: RealmContext.endless) }
    OpenRealms.keep(context)
  }

  /// Commits the write transaction. The changes are durable when it returns.
  public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws {
    try context.commit()
    for token in tokens {
      guard let observer = token.observer else { Misuse.stop("The observer of the token belongs to another realm.") }
      observer.skip()
    }
  }

  /// Rolls back all changes of the write transaction.
  public func cancelWrite() {
    if !context.isInTransaction { Misuse.stop("There is no write transaction to cancel.") }
    context.cancel()
  }

  // MARK: versions

  /// Moves the realm to the newest version. Returns true if that version differs from the previous one. Does nothing in
  /// a write transaction or in a frozen realm.
  @discardableResult
  public func refresh() -> Bool {
    let hasMoved = Misuse.unwrap { try context.refresh() }
    if hasMoved { context.deliverChanges() }
    return hasMoved
  }

  /// Releases the version being read. The realm's objects and collections can no longer be used.
  public func invalidate() { context.invalidate() }
}

extension Realm: Equatable {
  /// Returns true if the two are the same instance, as they are on one thread.
  public static func == (a: Realm, b: Realm) -> Bool { a.context === b.context }
}

extension Realm {
  /// The effect of adding an object whose primary key already exists.
  public enum UpdatePolicy: Int, Sendable {
    /// Ends the process.
    case error = 1
    /// Sets the properties of the existing object that differ.
    case modified = 3
    /// Sets all properties of the existing object.
    case all = 2
  }
}

/// Opens realms, and keeps the instances of each thread, queue and actor.
enum RealmOpening {
  private struct Place: Hashable {
    let path: String
    let confinement: UInt
  }
  private struct Weak: @unchecked Sendable {
    // Unchecked: only the thread of the context uses it.
    weak var context: RealmContext?
  }
  private struct Looked: @unchecked Sendable {
    // Unchecked: only retained and released.
    let contexts: [RealmContext]
  }
  private static let instances = Mutex<[Place: Weak]>([:])

  /// Opens the file of a configuration and prepares its schema. A synced realm is downloaded as `behavior` requires.
  static func open(
    _ configuration: Realm.Configuration,
    _ behavior: Realm.OpenBehavior = .never,
    _ waiting: SyncedFile.Waiting = .init()
  ) throws -> RealmFile {
    try Realm.Error.translating {
      let file = try RealmFile.of(configuration)
      if let synced = file.synced, behavior == .always || behavior == .once && !synced.isComplete {
        try synced.download(waiting)
      }
      try SchemaOpening.prepare(file, configuration, WantedClasses(configuration.objectTypes))
      return file
    }
  }

  /// Returns the realm of the calling thread, of a queue or of an actor. Opens it if necessary.
  static func context(
    _ configuration: Realm.Configuration,
    _ confinement: Confinement = .current
  ) throws -> RealmContext {
    do {
      return try Realm.Error.translating { try opened(configuration, confinement) }
    } catch var error as Realm.Error {
      error.fileURL = configuration.fileURL
      throw error
    }
  }

  private static func opened(
    _ configuration: Realm.Configuration,
    _ confinement: Confinement
  ) throws -> RealmContext {
    let file = try RealmFile.of(configuration)
    let place = Place(path: file.path, confinement: confinement.identity)
    if let known = instances.withLock({ $0[place] })?.context, known.file === file { return known }
    let wanted = try WantedClasses(configuration.objectTypes)
    try SchemaOpening.prepare(file, configuration, wanted)
    let context = try RealmContext(file, configuration, wanted, confinement)
    let entry = Weak(context: context)
    // Released outside the lock: the last reference may run the program's own code.
    let looked = instances.withLock { instances in
      let alive = instances.compactMapValues(\.context)
      instances = instances.filter { alive[$0.key] != nil }
      instances[place] = entry
      return Looked(contexts: Array(alive.values))
    }
    withExtendedLifetime(looked) {}
    return context
  }
}
