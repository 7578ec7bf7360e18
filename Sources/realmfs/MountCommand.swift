// `realmfs mount`: checks what can be checked, then serves the tree, in the background unless told otherwise.
import CLinux
import FileTree
import FuseBridge
import Glibc
import RealmPages

/// The command `mount`.
enum MountCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let mount = try Mount(arguments)
    if arguments.has(.foreground) || arguments.has(.debug) {
      return try mount.serve {
        let sent = clinux_notify_manager("READY=1")
        if sent < 0 { Log.error("cannot tell the service manager that the mount is live: \(System.message(-sent))") }
      }
    }
    return try Daemon.start(keeping: mount.keyDescriptor) { becomeReady in
      do throws(CommandFailure) {
        return try mount.serve(whenLive: becomeReady)
      } catch {
        Log.error(error.message)
        return error.code
      }
    }
  }
}

/// A mount that has passed all checks that need no open realm.
private struct Mount {
  private let arguments: Arguments
  private let path: String
  private let mountPoint: String
  private let options: MountOptions

  init(_ arguments: Arguments) throws(CommandFailure) {
    self.arguments = arguments
    // The path must keep its meaning when the process leaves its working directory.
    path = System.absolute(arguments.operands[0])
    options = try arguments.treeOptions()
    _ = try arguments.compactCondition(.compactOnLaunch)
    _ = try KeySource(arguments)
    mountPoint = try MountPoint.prepare(arguments.operands[1], verbose: arguments.has(.verbose))
    if let file = System.real(path), System.isPath(file, atOrBelow: mountPoint) {
      throw CommandFailure(
        .mountPoint,
        "mount point \(mountPoint) holds the realm file itself, which the mount would hide; choose another"
      )
    }
    try Self.checkFuse(arguments)
  }

  /// The descriptor that --key-fd names, or -1.
  var keyDescriptor: Int32 { arguments.value(.keyDescriptor).flatMap { Int32($0) } ?? -1 }

  /// Opens the realm, mounts it and serves it until it is unmounted.
  ///
  /// The options of the tree log to wherever messages go.
  func serve(whenLive: @escaping @Sendable () -> Void) throws(CommandFailure) -> ExitCode {
    let session = try makeSession()
    session.onReady = whenLive
    do throws(FuseError) { try session.mount() } catch { throw CommandFailure(error) }
    if arguments.has(.verbose) { Log.notice("\(path) is mounted on \(mountPoint)") }
    return session.run() == 0 ? .done : .failure
  }

  private func makeSession() throws(CommandFailure) -> FuseSession {
    let tree = try makeTree()
    var settings = FuseSettings(mountPoint: mountPoint)
    settings.foreground = arguments.has(.foreground)
    settings.singleThread = arguments.has(.singleThread)
    settings.debug = arguments.has(.debug)
    settings.kernelOptions = arguments.kernelOptions() + ["subtype=realmfs"]
    if !arguments.kernelOptions().contains(where: { $0.hasPrefix("fsname=") }) {
      settings.kernelOptions.append("fsname=\(path)")
    }
    do throws(FuseError) { return try FuseSession(tree, settings) } catch { throw CommandFailure(error) }
  }

  /// The realm as a tree: one that can be changed, unless the user or the file is against it.
  private func makeTree() throws(CommandFailure) -> FileTree {
    var configuration = try RealmSource.configuration(path: path, arguments, .shared)
    if arguments.has(.immutable) {
      configuration.mode = .immutable
    } else if System.isReadOnly(path) {
      Log.notice("\(path) is on a read-only file system, so it is mounted as with --immutable")
      configuration.mode = .immutable
    }
    // Other programs look for the lock file beside the file itself, not beside a link to it.
    if configuration.mode == .shared { configuration.path = System.real(path) ?? path }
    try rewriteFile(configuration)
    do throws(CommandFailure) { return try makeTree(configuration) } catch {
      guard error.code == .inUse else { throw error }
      let holders = LockHolders.ofRealm(at: path).map(\.description)
      if holders.isEmpty { throw error }
      throw CommandFailure(.inUse, "\(error.message) (in use by \(holders.joined(separator: ", ")))")
    }
  }

  /// What the user wants done to the file before it is mounted.
  private func rewriteFile(_ configuration: Configuration) throws(CommandFailure) {
    let condition = try arguments.compactCondition(.compactOnLaunch)
    if !arguments.has(.upgrade), condition == nil { return }
    if isReadOnly(configuration) {
      throw arguments.usage("--upgrade and --compact-on-launch change the file, which a mount that only reads must not")
    }
    if arguments.has(.upgrade) {
      let outcome: RealmUpgrade.Outcome
      do throws(CopyError) { outcome = try RealmUpgrade.run(configuration) } catch {
        throw CommandFailure(error, path: path)
      }
      if let backup = outcome.backup {
        Log.notice("\(path): format \(outcome.from) is now \(RealmUpgrade.format); the old file is \(backup)")
      }
    }
    guard let condition else { return }
    do throws(CopyError) {
      let sizes = try RealmCopy.rewrite(
        configuration,
        key: configuration.encryptionKey,
        where: { total, used in condition.holds(total: total, used: used) }
      )
      if let sizes { Log.notice("\(path): compacted from \(sizes.before) to \(sizes.after) bytes") }
    } catch {
      guard error.reason == .inUse else { throw CommandFailure(error, path: path) }
      Log.notice("\(path) was not compacted: \(CommandFailure(error, path: path).message)")
    }
  }

  private func makeTree(_ configuration: Configuration) throws(CommandFailure) -> FileTree {
    let obstacle = isReadOnly(configuration) ? nil : try obstacle(configuration)
    if !isReadOnly(configuration), obstacle == nil {
      let writer = try writer(configuration)
      do throws(FileTreeError) { return try FileTree(writer, options: options) } catch {
        throw CommandFailure(error, path: path)
      }
    }
    let realm = try RealmSource(configuration).realm
    if let obstacle { Log.notice("\(path) is mounted read-only: \(obstacle)") }
    do throws(FileTreeError) { return try FileTree(realm, options: options) } catch {
      throw CommandFailure(error, path: path)
    }
  }

  /// Whether the user wants no changes.
  private func isReadOnly(_ configuration: Configuration) -> Bool {
    configuration.mode == .immutable || arguments.has(.readOnly) || arguments.mountOption(.readOnly) != nil
  }

  /// Why the file cannot be changed; nil if it can.
  private func obstacle(_ configuration: Configuration) throws(CommandFailure) -> String? {
    var probe = configuration
    probe.mode = .immutable
    if let reason = RealmWriter.reasonAgainst(writing: try RealmSource(probe).latest()) { return reason }
    return access(path, W_OK) != 0 ? "it is write-protected" : nil
  }

  private func writer(_ configuration: Configuration) throws(CommandFailure) -> RealmWriter {
    do throws(TransactionError) { return try RealmWriter(configuration) } catch {
      throw CommandFailure(error, path: path)
    }
  }

  private static func checkFuse(_ arguments: Arguments) throws(CommandFailure) {
    if access("/dev/fuse", F_OK) != 0 {
      throw CommandFailure(.fuse, "/dev/fuse: \(System.message(errno)); load the kernel module with 'modprobe fuse'")
    }
    let widening = arguments.kernelOptions().first { $0 == "allow_other" || $0 == "allow_root" }
    if geteuid() != 0, let widening, !usersMayLetOthersIn() {
      throw CommandFailure(
        .fuse,
        "-o \(widening) is for root, unless root adds the line 'user_allow_other' to /etc/fuse.conf"
      )
    }
  }

  /// Whether fusermount3 takes allow_other from ordinary users; true if that cannot be seen.
  private static func usersMayLetOthersIn() -> Bool {
    let path = "/etc/fuse.conf"
    guard let text = System.text(ofFile: path) else { return access(path, F_OK) == 0 }
    return text.split(separator: "\n").contains { $0.split(separator: " ") == ["user_allow_other"] }
  }
}
