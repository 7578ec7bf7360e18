// A mount from the checked arguments to the end of its serving loop, for the commands `mount` and `exec`.
import CLinux
import FileTree
import FuseBridge
import Glibc
import RealmJSON
import RealmPages

/// A mount that has passed all checks that do not need an open realm.
struct Mount {
  private let arguments: Arguments
  private let path: String
  private let mountPoint: String
  private let schema: SchemaDescription?
  private let options: TreeOptions
  /// The sync server of the realm; nil if the realm is only a file.
  private let synced: SyncedRealm?

  /// Checks the arguments of a mount at the directory `point`.
  init(_ arguments: Arguments, at point: String) throws {
    self.arguments = arguments
    try arguments.checkMountOptions()
    path = try arguments.mountedPath()
    synced = try SyncedRealm(arguments, path: path)
    // Read the schema before the process goes into the background, where it has no standard input.
    schema = try arguments.schema(.schemaFile)
    var options = try arguments.treeOptions()
    if arguments.operands.count == 2, System.isDirectory(path), !System.isDirectory(point) {
      throw arguments.usage("\(arguments.operands[0]) is a directory; the file comes first, then the mount point")
    }
    mountPoint = try MountPoint.prepare(point, verbose: arguments.has(.verbose))
    if let folder = arguments.value(.trash) {
      let folder = try TrashFolder(folder, mountPoint: mountPoint)
      options.keepFormerText = { folder.keep($0, $1, $2) }
    }
    self.options = options
    if let file = RealmLinks.real(path), MountTable.isPath(file, atOrBelow: mountPoint) {
      throw CommandFailure(
        .mountPoint,
        "mount point \(mountPoint) holds the realm file itself, which the mount would hide; choose another"
      )
    }
    if arguments.mountOption(.nonEmpty) == nil { try MountPoint.requireEmpty(point) }
    try Self.checkFuse(arguments)
  }

  /// The descriptor given with --key-fd, or -1.
  var keyDescriptor: Int32 { arguments.value(.keyDescriptor).flatMap { Int32($0) } ?? -1 }

  /// Opens the realm, mounts it and serves it until it is unmounted.
  ///
  /// The tree logs through `Log`.
  func serve(whenLive: @escaping @Sendable () -> Void) throws -> ExitCode {
    // Threads start and end with the load, and memory kept by a malloc arena is reused only by the next thread that
    // uses the arena.
    clinux_limit_heaps(2)
    let session = try makeSession()
    session.onReady = whenLive
    // From here on, a signal only ends the loop, so the process always unmounts before it ends.
    clinux_survive(SIGPIPE)
    guard Interruption.onFirstSignal({ [loop = session.loop] in loop.end() }) else {
      throw CommandFailure(.failure, "cannot mount: no thread to wait for signals: \(System.message(errno))")
    }
    try session.mount()
    // A listing of the mount does not show the location of the README.
    if arguments.has(.verbose) || arguments.command == .mount && isatty(STDERR_FILENO) != 0 {
      Log.notice("\(path) is mounted on \(mountPoint); see \(mountPoint)/.realm/README")
    }
    defer { synced?.stop() }
    return session.run() == 0 ? .done : .failure
  }

  private func makeSession() throws -> FuseSession {
    let tree = try makeTree()
    var settings = FuseSettings(mountPoint: mountPoint)
    settings.foreground = arguments.has(.foreground)
    settings.singleThread = arguments.has(.singleThread)
    settings.debug = arguments.has(.debug)
    if let busyPoll = try arguments.busyPoll() { settings.busyPoll = busyPoll }
    settings.log = { Log.notice($0) }
    settings.kernelOptions = arguments.kernelOptions() + ["subtype=realmfs"]
    if !arguments.kernelOptions().contains(where: { $0.hasPrefix("fsname=") }) {
      settings.kernelOptions.append("fsname=\(path)")
    }
    return try FuseSession(tree, settings)
  }

  /// Builds the tree of the realm. It is writable unless the user or the file prevents it.
  private func makeTree() throws -> FileTree {
    var configuration = try arguments.mountConfiguration(path: path, schema)
    if arguments.has(.immutable) {
      configuration.mode = .immutable
    } else if System.isReadOnly(path) {
      Log.notice("\(path) is on a read-only file system, so it is mounted as with --immutable")
      configuration.mode = .immutable
    }
    do { return try makeTree(configuration) } catch { throw CommandFailure(error).naming(holdersOf: [path]) }
  }

  private func makeTree(_ configuration: Configuration) throws -> FileTree {
    var options = options
    // Texts of encrypted and in-memory realms must not reach the disk.
    if configuration.encryptionKey == nil, configuration.inMemoryIdentifier == nil {
      let folder = UnsavedFolder(ofRealm: path)
      options.keepUnsaved = { path, content throws(EngineError) in try folder.keep(path, content) }
    }
    if let synced { return try synced.makeTree(configuration, options) }
    if arguments.wantsNoChanges || configuration.mode == .immutable { return try readOnlyTree(configuration) }
    if arguments.has(.upgrade) { try upgrade(configuration) }
    if let command = arguments.value(.migrate) {
      let migration = CommandMigration(configuration, command: command)
      if try migration.isNeeded() { try migration.run() }
    }
    if let obstacle = try obstacle(configuration) { return try readOnlyTree(configuration, because: obstacle) }
    RealmPlace.warn(path)
    let writer: RealmWriter
    do {
      writer = try RealmWriter.open(configuration, create: arguments.makesRealm, report: report)
    } catch {
      if error.reason != .untrusted { throw failure(error) }
      var alone = configuration
      alone.mode = .immutable
      return try readOnlyTree(alone, because: error.description)
    }
    return try located(path) { try FileTree(writer, options: options) }
  }

  /// Builds a read-only tree for a realm that the user intended to change.
  private func readOnlyTree(
    _ configuration: Configuration,
    because obstacle: String
  ) throws -> FileTree {
    if configuration.schema != nil { throw CommandFailure(.failure, "\(path) cannot be given a schema: \(obstacle)") }
    let tree = try readOnlyTree(configuration)
    Log.notice("\(path) is mounted read-only: \(obstacle)")
    return tree
  }

  private func readOnlyTree(_ configuration: Configuration) throws -> FileTree {
    let realm = try RealmSource(
      configuration,
      onUnreached: { version in
        Log.notice(
          "\(path): the header points to no version; version \(version), found by a search, is shown; it may not be "
            + "the newest, and parts of it may be damaged"
        )
      },
      onRefusal: { code in
        Log.notice(
          "\(path).lock cannot be used (\(System.message(code))), so the realm is mounted as with --immutable, "
            + "without coordinating with other programs"
        )
      }
    ).realm
    return try located(path) { try FileTree(realm, options: options) }
  }

  private func upgrade(_ configuration: Configuration) throws {
    let outcome: RealmUpgrade.Outcome
    do { outcome = try RealmUpgrade.run(configuration) } catch {
      throw CommandFailure(error, rewriting: path)
    }
    if let backup = outcome.backup {
      Log.notice("\(path): upgraded from format \(outcome.from) to \(RealmUpgrade.format); the old file is \(backup)")
    }
  }

  /// Returns the reason why the file cannot be changed; nil if it can be, or is about to be created.
  private func obstacle(_ configuration: Configuration) throws -> String? {
    if configuration.inMemoryIdentifier != nil { return nil }
    if arguments.makesRealm || arguments.has(.seed) {
      // Apps also turn an empty file into a realm.
      switch System.status(path) {
      case .failure(let error) where error.code == ENOENT: return nil
      case .success(let status) where arguments.makesRealm && status.isEmptyFile: return nil
      default: break
      }
    }
    var probe = configuration
    probe.mode = .immutable
    let newest = try RealmSource(probe).latest()
    if let reason = RealmWriter.reasonAgainst(writing: newest) { return reason }
    if unsafe access(path, W_OK) != 0 { return "it is write-protected" }
    // The first save to a copy creates files beside it. For other realms, opening them has created these files already.
    let folder = System.folder(of: path)
    if newest.isStreamingForm, unsafe access(folder, W_OK | X_OK) != 0 {
      return "it is a copy, and files cannot be created beside it in \(folder)"
    }
    return nil
  }

  /// Converts the error of a realm that cannot be opened for writing.
  private func failure(_ error: EngineError) -> CommandFailure {
    let failure = CommandFailure(error, path: path)
    if case .file(let code) = error.reason, RealmSource.preventsFiles(code), unsafe access(path, R_OK) == 0 {
      return CommandFailure(failure.code, "\(failure.message); --immutable mounts it without files beside the realm")
    }
    if error.reason != .needsMigration { return failure }
    let remedy = "--migrate runs a command that migrates the data, --delete-if-migration-needed starts with no data"
    return CommandFailure(failure.code, "\(failure.message); \(remedy)")
  }

  /// Logs a change to the realm that was made before mounting it.
  private func report(_ step: LaunchStep) {
    switch step {
    case .seeded(let seed): Log.notice("\(path) was created as a copy of \(seed)")
    case .compacted(let sizes): Log.notice("\(path): compacted from \(sizes.before) to \(sizes.after) bytes")
    case .notCompacted(let error):
      Log.notice("\(path) was not compacted: \(CommandFailure(error, rewriting: path).message)")
    case .deleted(let error): Log.notice("\(path) was replaced by an empty realm: \(error)")
    case .schemaChanged(let old, let new):
      let versions = [old, new].map { $0.map { "\($0)" } ?? "none" }
      Log.notice("\(path): schema changed, from version \(versions[0]) to \(versions[1])")
    }
  }

  private static func checkFuse(_ arguments: Arguments) throws {
    if unsafe access("/dev/fuse", F_OK) != 0 {
      throw CommandFailure(.fuse, "/dev/fuse: \(System.message(errno)); load the kernel module with 'modprobe fuse'")
    }
    let widening = arguments.kernelOptions().first { $0 == "allow_other" || $0 == "allow_root" }
    if geteuid() != 0, let widening, !usersMayAllowOther() {
      throw CommandFailure(
        .fuse,
        "-o \(widening) is for root, unless root adds the line 'user_allow_other' to /etc/fuse.conf"
      )
    }
  }

  /// True if fusermount3 permits `allow_other` for ordinary users, or if its configuration cannot be read.
  private static func usersMayAllowOther() -> Bool {
    let path = "/etc/fuse.conf"
    guard let text = KernelText.of(path) else { return unsafe access(path, F_OK) == 0 }
    return text.split(separator: "\n").contains { $0.split(separator: " ") == ["user_allow_other"] }
  }
}
