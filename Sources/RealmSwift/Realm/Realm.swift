// A realm as programs use it.

public import Foundation
import RealmPages
import Glibc
import Synchronization

/// A realm that is open on one thread.
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

  /// Opens a realm; makes the file if it does not exist. A thread that has the realm open gets the same instance. A
  /// synced realm that was never opened is downloaded until the classes of the models are there: its objects come
  /// later.
  public init(configuration: Configuration) throws {
    self.init(try Realm.Error.translating { try RealmOpening.context(configuration) })
  }

  /// Opens the realm in a file.
  public init(fileURL: URL) throws {
    var configuration = Configuration.defaultConfiguration
    configuration.fileURL = fileURL
    try self.init(configuration: configuration)
  }

  /// How the realm was opened.
  public var configuration: Configuration { context.configuration }

  /// The classes that the realm was opened with.
  public var schema: Schema { Schema(objectSchema: context.wanted.classes.map { ObjectSchema($0) }) }

  /// Whether the realm has no objects of its classes.
  public var isEmpty: Bool {
    context.checkThread()
    return context.wanted.classes.allSatisfy { schema in
      Misuse.unwrap { try context.current(context.managed(schema.type)).table.objectCount } == 0
    }
  }

  // MARK: write transactions

  /// Whether a write transaction has begun.
  public var isInWriteTransaction: Bool {
    context.checkThread()
    return context.isInTransaction
  }

  /// Runs `block` in a write transaction and returns what it returns. If it throws, nothing is changed. Waits for the
  /// writers of other threads and programs. The observers of `tokens`, which belong to this realm, are not told of what
  /// is changed.
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

  /// Begins a write transaction, however long other writers take; ends the process if it cannot begin.
  public func beginWrite() {
    Misuse.unwrap { try context.begin(staysOnThread: false, timeout: RealmContext.endless) }
  }

  /// Commits the write transaction: the changes are on disk when it returns.
  public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws {
    try context.commit()
    for token in tokens {
      guard let observer = token.observer else { Misuse.stop("The observer of the token belongs to another realm.") }
      observer.skip()
    }
  }

  /// Takes all changes of the write transaction back.
  public func cancelWrite() {
    if !context.isInTransaction { Misuse.stop("There is no write transaction to cancel.") }
    context.cancel()
  }

  // MARK: versions

  /// Reads the newest version from now on; whether it differs from the one before. Nothing happens in a write
  /// transaction or in a frozen realm.
  @discardableResult
  public func refresh() -> Bool {
    let hasMoved = Misuse.unwrap { try context.refresh() }
    if hasMoved { context.deliverChanges() }
    return hasMoved
  }

  /// Lets the version go that is read. Objects and collections of the realm cannot be used any more.
  public func invalidate() { context.invalidate() }
}

extension Realm: Equatable {
  /// Whether both are the same instance, as on one thread.
  public static func == (a: Realm, b: Realm) -> Bool { a.context === b.context }
}

extension Realm {
  /// What happens when an object is added whose primary key is taken.
  public enum UpdatePolicy: Int, Sendable {
    /// It ends the process.
    case error = 1
    /// The properties of the present object that differ are changed.
    case modified = 3
    /// All properties of the present object are set.
    case all = 2
  }
}

/// Opening, and the instances of each thread.
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
    // Unchecked: only kept and released.
    let contexts: [RealmContext]
  }
  private static let instances = Mutex<[Place: Weak]>([:])

  /// The file of a configuration, with the schema that it wants; of a synced realm downloaded as it `behavior` says.
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

  /// The realm of this thread, queue or actor; opened if it does not have it open.
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
    // What turns out to have no other reference here ends behind the lock: that may be a program's own code.
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
