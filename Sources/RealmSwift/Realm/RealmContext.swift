// The state of an open realm in one confinement: the version that it reads and the transaction that it writes in.

import Foundation
import Glibc
import RealmPages

/// A realm in one confinement, or a frozen version of it. `Realm` is a handle to it.
final class RealmContext {
  // Fields used by each property read skip the run-time check for exclusive access, which would take as long as the
  // read. No function passes these fields inout. A live realm is used by one thread; a frozen realm does not change.

  let file: RealmFile
  let configuration: Realm.Configuration
  private(set) var wanted: WantedClasses
  /// True if the realm stays at its version and is used by all threads.
  let isFrozen: Bool
  let confinement: Confinement
  /// True while `OpenRealms` retains the realm for its thread.
  var isKeptOpen = false
  /// The thread that the realm is confined to; 0 for other confinements.
  let thread: pthread_t
  @safe @exclusivity(unchecked) private(set) var hold: VersionHold?
  /// The open write transaction; nil outside of one.
  @safe @exclusivity(unchecked) private var transaction: OpenTransaction?
  /// Incremented when earlier reads may be out of date.
  @safe @exclusivity(unchecked) private(set) var generation = 0
  /// The objects created in the transaction of a synced realm.
  private(set) var created: CreatedObjects?
  /// True if the transaction has changed anything.
  @safe @exclusivity(unchecked) private(set) var isDirty = false
  /// The policy for objects that already exist, while an object is being added.
  var addPolicy: Realm.UpdatePolicy?
  /// The copies of the objects that a call of `create` has stored so far, by their originals; nil outside of `create`.
  var copies: [ObjectBase: ObjectBase]?
  private var classes: [ObjectIdentifier: ManagedClass] = [:]
  /// All classes found since the realm was opened. Objects refer to them without retaining them.
  private var found: [ManagedClass] = []
  /// The most recently frozen version, while it is in use.
  weak var frozenVersion: RealmContext?
  /// Guards the classes of a frozen realm and their cursors.
  private let frozenLock = NSLock()
  let observers = ObserverList()
  var isDelivering = false
  /// True if a realm with observers moves to the newest version automatically.
  var autorefresh = true
  /// The asynchronous write transactions.
  private(set) lazy var asyncWrites = AsyncWrites(self)
  /// The number of `asyncWrite` calls in progress.
  var asyncWriteDepth = 0

  init(
    _ file: RealmFile,
    _ configuration: Realm.Configuration,
    _ wanted: WantedClasses,
    _ confinement: Confinement = .current,
    frozenAt hold: VersionHold? = nil
  ) throws {
    (self.file, self.configuration, self.wanted) = (file, configuration, wanted)
    isFrozen = hold != nil
    self.confinement = isFrozen ? .everywhere : confinement
    if case .thread(let thread) = self.confinement { self.thread = thread } else { thread = 0 }
    self.hold = try hold ?? Realm.Error.translating { try file.reader.hold() }
  }

  func isSameRealm(as other: RealmContext) -> Bool {
    self === other || file === other.file && isFrozen == other.isFrozen && (!isFrozen || version == other.version)
  }

  /// The number of the version being read; 0 if none is.
  var version: UInt64 { hold?.snapshot.version ?? 0 }

  // MARK: rules

  /// Ends the process if the caller is outside the confinement of the realm.
  @inline(__always)
  func checkThread() { if thread != pthread_self() { confinement.check() } }

  var isInTransaction: Bool { transaction != nil }

  /// Ends the process outside of a write transaction.
  func checkWrite() {
    checkThread()
    if isFrozen { Misuse.stop("Frozen realms and their objects cannot be changed: thaw() them first.") }
    if transaction == nil { Misuse.stop("Cannot modify managed objects outside of a write transaction.") }
  }

  // MARK: versions

  /// Returns the version being read, including the changes of the transaction.
  func snapshot() throws -> Snapshot {
    if let transaction { return isDirty ? try changedSnapshot(transaction) : transaction.engine.former }
    guard let hold else { Misuse.stop("The Realm was invalidated, and nothing was read from it since.") }
    return hold.snapshot
  }

  private var changed: (generation: Int, snapshot: Snapshot)?

  private func changedSnapshot(_ transaction: OpenTransaction) throws -> Snapshot {
    if let changed, changed.generation == generation { return changed.snapshot }
    let snapshot = try transaction.engine.changed()
    changed = (generation, snapshot)
    return snapshot
  }

  /// Moves to the newest version. Returns true if it differs from the previous one.
  func refresh() throws -> Bool {
    checkThread()
    if isFrozen || isInTransaction { return false }
    let newest = try Realm.Error.translating { try file.reader.hold() }
    if let hold, hold.snapshot.version == newest.snapshot.version { return false }
    hold = newest
    generation += 1
    return true
  }

  /// Releases the version being read.
  func invalidate() {
    checkThread()
    if isFrozen { return }
    cancel()
    end()
  }

  /// Releases the version being read. All objects become invalid, also those of a frozen realm.
  func end() {
    for type in classes.values { type.end() }
    classes = [:]
    hold = nil
    generation += 1
  }

  /// Reads a version again after `invalidate`.
  func revive() throws {
    if hold == nil && !isInTransaction { _ = try refresh() }
  }

  /// Returns the key of the object with a primary key, in a transaction.
  func find(inTransaction managed: ManagedClass, _ primaryKey: Value) throws -> Int64? {
    guard let transaction else { return nil }
    return try transaction.engine.objectKey(managed.key, primaryKey: primaryKey)?.value
  }

  /// Returns the keys of the objects that link to an object through a property of the class `origin`.
  func origins(
    of type: ManagedClass,
    _ key: Int64,
    from origin: ManagedClass,
    _ property: Int
  ) throws -> [ObjKey] {
    if isDirty, let transaction {
      return try transaction.engine.origins(of: type.key, ObjKey(key), from: origin.key, origin.columnKeys[property])
    }
    let cursor = ObjectCursor(try current(type).table)
    guard key >= 0, try cursor.seek(ObjKey(key)) else { return [] }
    return try cursor.origins(from: origin.key, origin.columnKeys[property])
  }

  // MARK: transactions

  /// The timeout of callers that cannot report one.
  static let endless = Duration.seconds(Int64.max)

  func begin(staysOnThread: Bool = true, timeout: Duration = RealmWriter.timeout) throws {
    checkThread()
    guard let writer = file.writer, !isFrozen else {
      throw Realm.Error(.fail, "\(file.path) was opened read-only: there are no write transactions")
    }
    if isInTransaction { throw Realm.Error(.fail, "The Realm is already in a write transaction") }
    // First notify observers of earlier changes, by other writers and by this realm.
    if !observers.all.isEmpty { deliverChanges() }
    if let acquired = try asyncWrites.takeAcquired() { return try enter(acquired) }
    do {
      transaction = OpenTransaction(try begin(writer, staysOnThread, timeout))
    } catch { throw Realm.Error(error) }
    created = file.synced.map { CreatedObjects($0) }
    isDirty = false
    generation += 1
  }

  private func begin(
    _ writer: RealmWriter,
    _ staysOnThread: Bool,
    _ timeout: Duration
  ) throws(EngineError) -> WriteTransaction {
    if staysOnThread { return try writer.beginOnThisThread(timeout: timeout) }
    // Callers that cannot report an unreachable server get the error when they commit.
    return try writer.beginUnready(timeout: timeout)
  }

  /// Takes over a transaction that has begun.
  func enter(_ begun: OpenTransaction) throws {
    checkThread()
    if isInTransaction { throw Realm.Error(.fail, "The Realm is already in a write transaction") }
    transaction = begun
    created = file.synced.map { CreatedObjects($0) }
    isDirty = false
    generation += 1
  }

  /// Ends the transaction here and returns it for its commit; nil if there is nothing to commit.
  func leave() throws -> OpenTransaction? {
    guard isDirty, let transaction, transaction.engine.hasChanges else {
      cancel()
      return nil
    }
    changed = nil
    OpenRealms.forget(self)
    try created?.remember(self, transaction)
    self.transaction = nil
    isDirty = false
    generation += 1
    return transaction
  }

  /// Moves to the committed version, or cleans up and throws `error` if the commit failed.
  func didCommit(_ error: (any Error)? = nil) throws {
    let created = created
    if !isInTransaction { self.created = nil }
    if let error {
      created?.forget()
      asyncWrites.next()
      throw error
    }
    _ = try refresh()
    if let hold { created?.move(to: hold.snapshot) }
    file.delivery.noteChange()
  }

  func commit() throws {
    checkThread()
    changed = nil
    guard let transaction else { throw Realm.Error(.fail, "There is no write transaction to commit") }
    let created = created
    if isDirty { try created?.remember(self, transaction) }
    (self.transaction, self.created) = (nil, nil)
    // The transaction ends here, even if its commit fails.
    OpenRealms.forget(self)
    let isDirty = isDirty && transaction.engine.hasChanges
    self.isDirty = false
    generation += 1
    do { if isDirty { _ = try transaction.commit() } else { transaction.rollback() } } catch {
      created?.forget()
      throw Realm.Error(error)
    }
    hold = try Realm.Error.translating { try file.reader.hold() }
    if isDirty, let hold { created?.move(to: hold.snapshot) }
    if isDirty { file.delivery.noteChange() }
    asyncWrites.next()
  }

  func cancel() {
    checkThread()
    changed = nil
    guard let transaction else { return }
    OpenRealms.forget(self)
    created?.forget()
    (self.transaction, created) = (nil, nil)
    transaction.rollback()
    isDirty = false
    generation += 1
    // If no other version can be read, the realm stays at the previous one.
    _ = try? refresh()
    // Notify observers of commits made in the meantime.
    observers.schedule()
    asyncWrites.next()
  }

  /// Runs `body`, which changes the realm.
  func change<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
    checkWrite()
    guard let transaction else { throw Realm.Error(.fail, "there is no write transaction") }
    defer {
      isDirty = true
      generation += 1
    }
    return try Realm.Error.translating { try body(transaction.engine) }
  }

  /// Like `change`, but ends the process on an error, for callers that cannot report one.
  func apply<R>(_ body: (borrowing WriteTransaction) throws -> R) -> R { Misuse.unwrap { try change(body) } }

  // MARK: classes

  /// Makes the realm represent its objects by other classes: in a migration, by those that the file has.
  func represent(_ classes: WantedClasses) {
    for type in self.classes.values { type.end() }
    self.classes = [:]
    wanted = classes
  }

  /// Moves all classes to the changed columns of their tables.
  func followColumns() throws {
    for type in classes.values {
      if let table = try table(ofClass: type.name) { type.move(to: table, generation) }
    }
  }

  /// Returns the class of a schema; ends the process if the realm does not have it.
  func managed(_ schema: ClassSchema) -> ManagedClass {
    // All dynamic schemas have the same type.
    schema.isDynamic ? managed(schema, ObjectIdentifier(schema)) : managed(schema.type)
  }

  /// Returns the class of a model; ends the process if the realm does not have it.
  func managed(_ type: ObjectBase.Type) -> ManagedClass {
    Misuse.unwrap { try revive() }
    if !isFrozen, let known = classes[ObjectIdentifier(type)] { return known }
    return managed(ClassSchema.of(type), ObjectIdentifier(type))
  }

  private func managed(_ schema: ClassSchema, _ identifier: ObjectIdentifier) -> ManagedClass {
    // The classes of a frozen realm are used by several threads.
    if isFrozen { frozenLock.lock() }
    defer { if isFrozen { frozenLock.unlock() } }
    if let known = classes[identifier] { return known }
    guard let found = find(schema) else {
      Misuse.stop("The realm does not have the class '\(schema.name)': see objectTypes.")
    }
    classes[identifier] = found
    return found
  }

  private func find(_ schema: ClassSchema) -> ManagedClass? {
    guard wanted.classes.contains(where: { $0 === schema }) else { return nil }
    return Misuse.unwrap {
      guard let table = try table(ofClass: schema.name) else { return nil }
      let type = ManagedClass(schema, self, table, generation)
      found.append(type)
      return type
    }
  }

  /// Returns the table of a class, also if the transaction added it; nil if there is none.
  func table(ofClass name: String) throws -> Table? {
    let name = Table.classPrefix + name
    guard isDirty, let transaction else { return try snapshot().table(named: name) }
    return try transaction.engine.tableKey(named: name).map { try transaction.engine.table($0) }
  }

  /// Returns the model of a table; nil if no model of the realm has it.
  func schema(of table: TableKey) -> ClassSchema? {
    let name = Misuse.unwrap { try className(of: table) }
    return wanted.classes.first { $0.name.isExactly(name) }
  }

  /// Returns the name of a class; nil for another table. Reads only this table.
  func className(of table: TableKey) throws -> String? {
    if isDirty, let transaction { return try transaction.engine.table(table).className }
    return try snapshot().table(table)?.className
  }

  /// Returns the class after moving it to the version being read.
  @inline(__always)
  func current(_ type: ManagedClass) throws -> ManagedClass {
    if type.generation != generation, !isFrozen {
      guard let table = try snapshot().table(type.key) else {
        throw Realm.Error(.fail, "the class '\(type.name)' is gone")
      }
      type.move(to: table, generation)
    }
    return type
  }

  // MARK: reading

  func contains(_ type: ManagedClass, _ key: Int64) -> Bool {
    checkThread()
    if key < 0 || type.isDead || hold == nil && !isInTransaction { return false }
    return Misuse.unwrap {
      if isDirty, let transaction { return try transaction.engine.contains(type.key, ObjKey(key)) }
      return try current(type).table.contains(ObjKey(key))
    }
  }

  /// Calls `body` with the value of a property. The value is valid until the next change.
  func read<R>(_ type: ManagedClass, _ key: Int64, _ property: Int, _ body: (StoredValue) -> R) -> R {
    checkThread()
    let found = Misuse.unwrap { try view(type, key, property) }
    guard let view = found else {
      Misuse.stop("The object of class '\(type.name)' was deleted, or its realm invalidated.")
    }
    return body(StoredValue(view: view, context: self))
  }

  /// Returns the value of a property; nil if the object does not exist.
  func view(_ type: ManagedClass, _ key: Int64, _ property: Int) throws -> ValueView? {
    if isDirty, let transaction {
      return try transaction.engine.view(type.key, ObjKey(key), type.columnKeys[property])
    }
    if type.isDead || hold == nil && !isInTransaction { return nil }
    // Several threads read a frozen realm, but a cursor serves one at a time.
    if isFrozen { return try frozenLock.withLock { try view(type, type.cursor, key, property) } }
    return try view(type, current(type).cursor, key, property)
  }

  @inline(__always)
  private func view(
    _ type: ManagedClass,
    _ cursor: ObjectCursor,
    _ key: Int64,
    _ property: Int
  ) throws -> ValueView? {
    guard key >= 0, try cursor.key.value == key || cursor.seek(ObjKey(key)) else { return nil }
    return try cursor.value(type.columns[property])
  }

  // MARK: objects

  /// Returns the object with a key. Does not check that the object still exists.
  func object<T: ObjectBase>(of type: T.Type, _ table: TableKey, _ key: Int64) -> T? {
    if type == ObjectBase.self || type == Object.self || type == EmbeddedObject.self {
      return object(table, key) as? T
    }
    if type == DynamicObject.self {
      return schema(of: table).flatMap { DynamicObject(self, self.managed($0), key) as? T }
    }
    let managed = managed(type)
    return managed.key == table ? object(managed, key) as? T : nil
  }

  /// Like `object(of:_:_:)`, but as an instance of the table's own model; nil if no model has the table.
  func object(_ table: TableKey, _ key: Int64) -> ObjectBase? {
    schema(of: table).map { object(managed($0), key) }
  }

  /// Returns a new instance that represents the object with this key.
  func object(_ managed: ManagedClass, _ key: Int64) -> ObjectBase {
    guard let schema = managed.schema else { Misuse.stop("the class '\(managed.name)' has no model") }
    let object = schema.type.init()
    bind(object, to: managed, schema, key)
    return object
  }

  func bind(_ object: ObjectBase, to managed: ManagedClass, _ schema: ClassSchema, _ key: Int64) {
    object.becomeManaged(by: self, managed, key)
    created?.note(object)
    StoragePlace.manage(object, schema.offsets)
  }

  /// Retains a realm for many objects. The realm has weak references, which slow down its reference counting.
  final class RealmRetainer {
    private let context: RealmContext

    init(_ context: RealmContext) { self.context = context }
  }
}

extension PropertyPlace {
  /// Calls `body` with the stored value of the property.
  @inline(__always)
  func read<R>(_ body: (StoredValue) -> R) -> R {
    object.withClass { type in type.withContext { $0.read(type, object.objectKey, index, body) } }
  }

  // Fast paths for the most frequent reads: nil if the caller must use `read`, which finds the value or reports the
  // misuse.

  /// An integer.
  @inline(__always) var integer: Int64? { object.withClass { $0.integer(index, object.objectKey) } }
  /// A floating-point number.
  @inline(__always) var double: Double? { object.withClass { $0.double(index, object.objectKey) } }
  /// The bytes of a short string. They stay valid for as long as the object retains its realm.
  @inline(__always) var text: ByteView? { object.withClass { $0.text(index, object.objectKey) } }

  /// Stores a value in the property.
  func write(_ value: (WriteTarget) -> EngineValue) {
    guard let context = object.context, let type = object.managedClass else { Misuse.stop("the object is not managed") }
    context.checkWrite()
    if let schema = type.schema, schema.primaryKeyIndex == index, !schema.isDynamic {
      Misuse.stop("The primary key of '\(type.name)' cannot be changed after the object was added to a realm.")
    }
    let value = value(WriteTarget(context: context, policy: context.policy))
    context.store(value, type, object.objectKey, index)
  }
}
