// Opens the FILE of a command, with its key if one is given, and converts errors to exit codes.
import FileTree
import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// An open realm and its path as given.
struct RealmSource {
  let path: String
  let realm: Realm

  /// Opens the first operand for a brief read that leaves no trace, or as of the version that --version names.
  init(_ arguments: Arguments) throws {
    let configuration = try Self.configuration(path: arguments.operands[0], arguments, .immutable)
    if let version = arguments.value(.version) {
      self = try Self.former(configuration, version: version)
    } else {
      try self.init(configuration)
    }
  }

  /// Opens the first operand for a read that takes a while. If other programs share the realm, joins them, so that the
  /// version being read remains intact regardless of their commits. Otherwise creates no files beside it.
  static func pinned(_ arguments: Arguments) throws -> RealmSource {
    if arguments.has(.version) { return try RealmSource(arguments) }
    return try pinned(configuration(path: arguments.operands[0], arguments, .immutable))
  }

  /// Opens a realm for a read that takes a while, as `pinned(_:)` does for the first operand.
  static func pinned(_ configuration: Configuration) throws -> RealmSource {
    if hasLockFile(configuration.path), let source = shared(configuration) { return source }
    return try RealmSource(configuration)
  }

  /// Opens a realm for continued reads, along with the programs that share it now or later. Reads only the realm file
  /// if the realm cannot be shared.
  static func live(_ arguments: Arguments) throws -> RealmSource {
    let configuration = try configuration(path: arguments.operands[0], arguments, .immutable)
    if !arguments.has(.immutable), let source = shared(configuration) { return source }
    return try RealmSource(configuration)
  }

  /// Joins the programs that share a realm; nil if that is not possible, which does not prevent reading.
  private static func shared(_ configuration: Configuration) -> RealmSource? {
    do {
      var shared = configuration
      shared.mode = .shared
      shared.idleTime = nil
      let source = RealmSource(path: shared.path, realm: try Realm(shared))
      _ = try source.realm.latest()
      // An interruption must not leave the version pinned.
      Interruption.watch()
      return source
    } catch {
      if error.reason == .file(EPERM) { Log.notice("\(error); read without it") }
      return nil
    }
  }

  /// True if there is a lock file, which shows that programs have shared the realm.
  static func hasLockFile(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path + ".lock", &status) == 0
  }

  /// Creates a source from a realm that is already open.
  init(path: String, realm: Realm) {
    self.path = path
    self.realm = realm
  }

  /// Opens a realm.
  init(_ configuration: Configuration) throws {
    path = configuration.path
    realm = try Realm(configuration)
  }

  /// Opens a realm for reading. If the files beside a shared realm cannot be created or opened, for lack of permission
  /// or space, calls `onRefusal` and reads only the realm file. If the header points to no version and `onUnreached` is
  /// given, calls it and shows the newest version in the file.
  init(
    _ configuration: Configuration,
    onUnreached: ((_ version: UInt64) -> Void)? = nil,
    onRefusal: (_ code: Int32) -> Void
  ) throws {
    path = configuration.path
    do { realm = try Realm(configuration) } catch {
      // If no version is left, the first error is more informative.
      if error.reason == .unreached, let onUnreached, let (found, version) = try? Realm.unreached(configuration) {
        realm = found
        onUnreached(version)
        return
      }
      guard configuration.mode == .shared, case .file(let code) = error.reason, Self.preventsFiles(code) else {
        throw CommandFailure(error)
      }
      var alone = configuration
      alone.mode = .immutable
      // An error in the realm file itself is thrown unchanged.
      guard let found = try? Realm(alone) else { throw CommandFailure(error) }
      realm = found
      onRefusal(code)
    }
  }

  /// True if an error means that files beside the realm can be neither created nor opened.
  static func preventsFiles(_ code: Int32) -> Bool { [EACCES, EPERM, EROFS, ENOSPC, EDQUOT].contains(code) }

  /// Returns the configuration of the file at `path` with the key given by the arguments.
  static func configuration(
    path: String,
    _ arguments: Arguments,
    _ mode: Configuration.Mode
  ) throws -> Configuration {
    let key = try KeySource(arguments).map { source in
      try source.read(verbose: arguments.has(.verbose))
    }
    var configuration = Configuration(path: path, encryptionKey: key, mode: mode)
    configuration.trustsOwner = arguments.trustsOwner
    configuration.opensUnreachedAsEmpty = arguments.has(.asEmpty)
    configuration.showsDotNetGuids = arguments.showsDotNetGuids
    return configuration
  }

  /// Returns the newest version.
  func latest() throws -> Snapshot {
    try realm.latest()
  }

  /// Runs `body` on the newest version. Repeats it if another program commits in the meantime, because `body` may have
  /// read invalid data.
  func onNewest<R>(
    attempts: Int = Self.attempts,
    _ body: (Snapshot) throws -> R
  ) throws -> R {
    guard let result = try realm.read(attempts: attempts, latest: latest, body) else { throw tooBusy }
    return result
  }

  /// The number of times a read is repeated because other programs commit.
  static let attempts = 1000

  /// The failure of a read after `attempts` repetitions.
  var tooBusy: CommandFailure {
    CommandFailure(
      .inUse,
      "\(path): other programs commit faster than it can be read; 'realmfs backup' makes a copy to read"
    )
  }
}

extension Snapshot {
  /// Returns the table of a class, given its stored name or the name of its directory in the tree.
  func table(ofClass name: String, in path: String) throws -> Table {
    let names: [String]
    do {
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
}

extension RealmWriter {
  /// Opens a realm for a command that changes it. Root does not join the session of another user's realm, but may
  /// change it while no other program has it open.
  static func ofCommand(_ configuration: Configuration) throws(EngineError) -> RealmWriter {
    RealmPlace.warn(configuration.path)
    do { return try RealmWriter(configuration) } catch {
      guard error.reason == .untrusted else { throw error }
      var alone = configuration
      alone.mode = .exclusive
      do { return try RealmWriter(alone) } catch let failure {
        if failure.reason != .inUse { throw failure }
        throw EngineError(.inUse, "\(error); or close the programs that use it")
      }
    }
  }
}
