// Opens the FILE of a command, with its key if one is named, and turns what can fail on the way into exit codes.
import FileTree
import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// An open realm and its path as given.
struct RealmSource {
  let path: String
  let realm: Realm

  /// Opens the first operand for a look that leaves no trace.
  init(_ arguments: Arguments) throws(CommandFailure) {
    try self.init(Self.configuration(path: arguments.operands[0], arguments, .immutable))
  }

  /// Opens the first operand for reading that takes a while. If other programs take part in the realm, so do we, and
  /// what we read is one version, however they go on; else nothing is made beside the file.
  static func pinned(_ arguments: Arguments) throws(CommandFailure) -> RealmSource {
    try pinned(configuration(path: arguments.operands[0], arguments, .immutable))
  }

  /// Opens a realm in that way.
  static func pinned(_ configuration: Configuration) throws(CommandFailure) -> RealmSource {
    if hasLockFile(configuration.path) {
      var shared = configuration
      shared.mode = .shared
      shared.idleTime = nil
      // A lock file that cannot be used is no reason not to read.
      do throws(EngineError) {
        let source = RealmSource(path: shared.path, realm: try Realm(shared))
        _ = try source.realm.latest()
        // An interruption must not leave the version pinned that we read.
        Interruption.watch()
        return source
      } catch {
        if error.reason == .file(EPERM) { Log.notice("\(error); read without it") }
      }
    }
    return try RealmSource(configuration)
  }

  /// Whether programs have had the realm open together.
  static func hasLockFile(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path + ".lock", &status) == 0
  }

  private init(path: String, realm: Realm) {
    self.path = path
    self.realm = realm
  }

  /// Opens a realm.
  init(_ configuration: Configuration) throws(CommandFailure) {
    path = configuration.path
    do throws(EngineError) { realm = try Realm(configuration) } catch { throw CommandFailure(error) }
  }

  /// Opens a realm for reading. Where the files beside it that a shared realm needs cannot be made or opened, for lack
  /// of rights or of space, which `onRefusal` is told, the realm file alone is read. A file whose header leads to no
  /// version shows the newest one in it, if `onUnreached` is there to be told.
  init(
    _ configuration: Configuration,
    onUnreached: ((_ version: UInt64) -> Void)? = nil,
    onRefusal: (_ code: Int32) -> Void
  ) throws(CommandFailure) {
    path = configuration.path
    do throws(EngineError) { realm = try Realm(configuration) } catch {
      // Where no version is left, the first error says more.
      if error.reason == .unreached, let onUnreached, let (found, version) = try? Realm.unreached(configuration) {
        realm = found
        onUnreached(version)
        return
      }
      guard configuration.mode == .shared, case .file(let code) = error.reason, Self.keepsFilesOut(code) else {
        throw CommandFailure(error)
      }
      var alone = configuration
      alone.mode = .immutable
      // An error of the realm file itself is passed on unchanged.
      guard let found = try? Realm(alone) else { throw CommandFailure(error) }
      realm = found
      onRefusal(code)
    }
  }

  /// Whether an error says that no file can be made beside the realm, or none that is there be opened.
  static func keepsFilesOut(_ code: Int32) -> Bool { [EACCES, EPERM, EROFS, ENOSPC, EDQUOT].contains(code) }

  /// The file at `path` with the key that the arguments name.
  static func configuration(
    path: String,
    _ arguments: Arguments,
    _ mode: Configuration.Mode
  ) throws(CommandFailure) -> Configuration {
    let key = try KeySource(arguments).map { (source) throws(CommandFailure) in
      try source.read(verbose: arguments.has(.verbose))
    }
    var configuration = Configuration(path: path, encryptionKey: key, mode: mode)
    configuration.trustsOwner = arguments.trustsOwner
    configuration.opensUnreachedAsEmpty = arguments.has(.asEmpty)
    configuration.showsDotNetGuids = arguments.showsDotNetGuids
    return configuration
  }

  /// The newest version.
  func latest() throws(CommandFailure) -> Snapshot {
    do throws(EngineError) { return try realm.latest() } catch { throw CommandFailure(error) }
  }

  /// Runs `body` on the newest version, again if another program committed meanwhile: it may have read anything then.
  func onNewest<R>(
    attempts: Int = Self.attempts,
    _ body: (Snapshot) throws(CommandFailure) -> R
  ) throws(CommandFailure) -> R {
    guard let result = try realm.read(attempts: attempts, latest: latest, body) else { throw tooBusy }
    return result
  }

  /// How often a read is repeated because of commits by others.
  static let attempts = 1000

  /// What to say when `attempts` were not enough.
  var tooBusy: CommandFailure {
    CommandFailure(
      .inUse,
      "\(path): other programs commit faster than it can be read; 'realmfs backup' makes a copy to read"
    )
  }
}

extension Snapshot {
  /// The table of a class, named as stored or as its directory in the tree.
  func table(ofClass name: String, in path: String) throws(CommandFailure) -> Table {
    let names: [String]
    do throws(EngineError) {
      let decoded = NameEscaping.className(ofDirectory: Array(name.utf8))
      for candidate in [name, decoded ?? name] {
        if let table = try table(named: Table.classPrefix + candidate) { return table }
      }
      names = try classes().compactMap(\.className)
    } catch {
      throw CommandFailure(error, path: path)
    }
    throw CommandFailure(.unreadable, "\(path): no class \(name); \(KnownNames(names).hint(for: name))")
  }

  /// All tables that are classes, in slot order.
  func classes() throws(EngineError) -> [Table] {
    var tables: [Table] = []
    for key in try tableKeys() {
      if let table = try table(key), table.className != nil { tables.append(table) }
    }
    return tables
  }
}

extension RealmWriter {
  /// Opens a realm for a command that changes it. Root takes no part in a realm of another user, but can have it alone:
  /// it is changed while no other program has it open.
  static func ofCommand(_ configuration: Configuration) throws(EngineError) -> RealmWriter {
    RealmPlace.warn(configuration.path)
    do throws(EngineError) { return try RealmWriter(configuration) } catch {
      guard error.reason == .untrusted else { throw error }
      var alone = configuration
      alone.mode = .exclusive
      do throws(EngineError) { return try RealmWriter(alone) } catch let failure {
        if failure.reason != .inUse { throw failure }
        throw EngineError(.inUse, "\(error); or close the programs that use it")
      }
    }
  }
}
