// `mount --migrate CMD`: a command modifies the new version of a realm in one directory, with the old version in
// another, before the new version replaces the realm. Until then the realm is unchanged and no other program can open
// it.
import Glibc
import RealmPages

/// A migration that a command performs.
struct CommandMigration {
  private let configuration: Configuration
  private let command: String

  /// Creates a migration. `command` is run by /bin/sh; $REALMFS_OLD and $REALMFS_NEW contain the paths of the
  /// directories.
  init(_ configuration: Configuration, command: String) {
    self.configuration = configuration
    self.command = command
  }

  /// True if the schema version of the realm must be increased.
  func isNeeded() throws -> Bool {
    guard let wanted = configuration.schema?.version, case .success(let status) = System.status(configuration.path),
      !status.isEmptyFile
    else { return false }
    var probe = configuration
    probe.mode = .immutable
    let snapshot = try RealmSource(probe).latest()
    return try located(configuration.path) {
      guard let stored = try snapshot.schemaVersion() else { return false }
      return stored < wanted
    }
  }

  /// Applies the schema to a copy of the realm and runs the command. If it exits with 0, replaces the realm with the
  /// copy.
  func run() throws {
    let path = configuration.path
    // The copy is in the same directory as the file itself, so that both are on the same file system.
    let staging = try Staging(for: RealmLinks.real(path) ?? path, .anything)
    // The subsequent mount handles signals differently.
    defer { Interruption.unwatch() }
    let folder = try staging.sharedFolder(trustsOwner: configuration.trustsOwner)
    let result: Result<Bool, any Error>
    do {
      result = try RealmCopy.exchange(configuration, byCopyIn: folder) { copy in
        try migrate(copy, in: folder)
        return true
      }
    } catch { throw CommandFailure(error, rewriting: path) }
    _ = try result.get()
  }

  private func migrate(_ copy: String, in folder: String) throws {
    var staged = configuration
    staged.path = copy
    staged.migration = { _, _, _ in }
    _ = try located(configuration.path) { try RealmWriter.open(staged, create: false) }
    let old = try mountPoint("old", in: folder), new = try mountPoint("new", in: folder)
    let cleanup = Interruption.cleaning { for point in [new, old] { MountPoint.detach(point) } }
    defer { withExtendedLifetime(cleanup) {} }
    try mount(configuration.path, on: old, options: ["--immutable"])
    defer { MountPoint.detach(old) }
    try mount(copy, on: new, options: [])
    unsafe setenv("REALMFS_OLD", old, 1)
    unsafe setenv("REALMFS_NEW", new, 1)
    let status = System.run(["/bin/sh", "-c", command])
    unsafe unsetenv("REALMFS_OLD")
    unsafe unsetenv("REALMFS_NEW")
    do { try MountPoint.unmount(new, isLazy: false) } catch {
      // Processes that still write to it are writing to a copy that is discarded.
      MountPoint.detach(new)
      throw error
    }
    guard status == 0 else {
      let end = status.map { $0 > 128 ? "signal \($0 - 128)" : "exit status \($0)" } ?? "an error: it cannot be run"
      throw CommandFailure(
        .failure,
        "\(configuration.path): the migration command ended with \(end), so nothing was changed"
      )
    }
  }

  private func mountPoint(_ name: String, in folder: String) throws -> String {
    let path = folder + "/" + name
    if unsafe mkdir(path, 0o700) != 0 { throw CommandFailure(.unreadable, "\(path): mkdir: \(System.message(errno))") }
    return path
  }

  /// Mounts `file` with this program in another process. The key is passed through a pipe.
  private func mount(_ file: String, on point: String, options: [String]) throws {
    var words = ["/proc/self/exe", "mount"] + options
    let key = try configuration.encryptionKey.map { key in try KeyPipe(key) }
    if let key { words += ["--key-fd", "\(key.descriptor)"] }
    let status = System.run(words + [file, point])
    withExtendedLifetime(key) {}
    if status != 0 {
      throw CommandFailure(.failure, "\(configuration.path): cannot mount the realm on \(point) for the migration")
    }
  }
}
