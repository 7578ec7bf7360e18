// Creates files and directories atomically: they appear complete or not at all. They are created in a temporary
// directory beside the target, which is removed with its content unless the result is published. The result is given
// its name only after all of it is on disk, so a power failure cannot leave a name without content.
//
// The directory of the target and the temporary directory are opened once. Publishing and removing use these
// descriptors, as does creating if `anchoredPath` is used, so a user who may rename files in the directory cannot
// redirect these operations.
import CLinux
import Glibc
import RealmPages
import RealmTransfer

/// A location in which a file or directory is created before it is given its name.
struct Staging: ~Copyable {
  private let target: String
  private let parent: String
  /// The last component of the target.
  private let name: String
  /// The temporary directory.
  private let directory: String
  /// The path at which to create the result.
  let path: String
  private let place: Place
  private let cleanup: Interruption.Cleanup

  /// The directory of the target and the temporary directory in it, as open descriptors.
  private final class Place: Sendable {
    let parent: Int32
    let name: String
    let directory: Int32

    /// Creates a directory with a new name, accessible only to this user.
    init(in path: String) throws(Errno) {
      parent = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if parent < 0 { throw Errno(code: errno) }
      var made: String?
      while made == nil {
        let candidate = ".realmfs-" + String(UInt32.random(in: .min ... .max), radix: 36)
        if unsafe mkdirat(parent, candidate, 0o700) == 0 {
          made = candidate
        } else if errno != EEXIST {
          let code = errno
          close(parent)
          throw Errno(code: code)
        }
      }
      let name = made ?? ""
      let opened = unsafe openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      var status = stat()
      let isOurs =
        unsafe opened >= 0 && fstat(opened, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
      guard isOurs else {
        let code = opened < 0 ? errno : EPERM
        if opened >= 0 { close(opened) }
        close(parent)
        throw Errno(code: code)
      }
      (self.name, directory) = (name, opened)
    }

    deinit {
      close(directory)
      close(parent)
    }

    /// The device and inode of the temporary directory.
    var identity: [UInt64] {
      get throws(EngineError) {
        var status = stat()
        guard unsafe fstat(directory, &status) == 0 else { throw .failed("fstat", name, errno) }
        return [UInt64(status.st_dev), UInt64(status.st_ino)]
      }
    }

    /// Removes `result` and everything else in the directory, and the directory itself if its name still refers to it.
    func remove(_ result: String) {
      // The work may still be running and refers to the result by name. After this rename, it cannot add to the result.
      unsafe renameat(directory, result, directory, name)
      // A file that was being created may still appear; if so, try again.
      for _ in 0..<10 {
        Self.empty(directory)
        if unsafe unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY { return }
      }
    }

    private static func empty(_ directory: Int32) {
      // A directory that cannot be listed cannot be emptied.
      for name in (try? DirectoryListing.names(in: "/proc/self/fd/\(directory)")) ?? [] {
        if unsafe unlinkat(directory, name, 0) == 0 { continue }
        let inner = unsafe openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if inner < 0 { continue }
        empty(inner)
        close(inner)
        unsafe unlinkat(directory, name, AT_REMOVEDIR)
      }
    }
  }

  /// The permitted states of a target before it is published.
  enum Requirement {
    case absent
    /// No such file, or an empty directory.
    case absentOrEmptyDirectory
    /// Any state, because the result is not published by this object.
    case anything
  }

  /// Prepares to create `target`, which is not touched until `publish()`.
  init(for target: String, _ requirement: Requirement = .absent) throws {
    var trimmed = target[...]
    while trimmed.count > 1 && trimmed.hasSuffix("/") { trimmed.removeLast() }
    let slash = trimmed.lastIndex(of: "/")
    let name = slash.map { trimmed[trimmed.index(after: $0)...] } ?? trimmed
    if name.isEmpty || name == "." || name == ".." {
      throw CommandFailure(.usage, "\(target): not a valid name for a new file")
    }
    let parent = slash.map { $0 == trimmed.startIndex ? "/" : String(trimmed[..<$0]) } ?? "."
    try Self.check(String(trimmed), requirement)
    let place: Place
    do { place = try Place(in: parent) } catch {
      throw CommandFailure(.unreadable, "cannot write to \(parent): \(System.message(error.code))")
    }
    self.target = String(trimmed)
    self.parent = parent
    self.name = String(name)
    self.place = place
    directory = parent + "/" + place.name
    path = directory + "/" + name
    cleanup = Interruption.cleaning { [result = self.name] in
      place.remove(result)
      Log.error("interrupted: nothing was left behind")
    }
    Interruption.watch()
  }

  deinit { place.remove(name) }

  /// A form of `path` that is valid only in this process, and stays valid if a directory on the way is renamed.
  var anchoredPath: String { System.hasProcesses ? "/proc/self/fd/\(place.directory)/\(name)" : path }

  /// A directory only for this user, on the file system of the target. It is removed with its content. Its name is
  /// for other processes, such as mounts.
  ///
  /// - Throws: `unreadable` if another user can change what the name refers to, unless root `trustsOwner`.
  func sharedFolder(trustsOwner: Bool) throws -> String {
    if trustsOwner { return directory }
    do {
      let found = try TrustedDirectory.open(System.absolute(directory))
      if try found.identity == place.identity { return directory }
    } catch { throw CommandFailure(.unreadable, error.description) }
    throw CommandFailure(.unreadable, "\(parent): another program renames folders in it; try again")
  }

  /// Returns a failure with the name of the target, which the user knows, in place of the temporary path.
  func named(_ failure: CommandFailure) -> CommandFailure {
    failure.saying(failure.message.replacing(path, with: target).replacing(anchoredPath, with: target))
  }

  private static func check(_ target: String, _ requirement: Requirement) throws {
    if requirement == .anything { return }
    var status = stat()
    if unsafe lstat(target, &status) != 0 { return }
    if requirement == .absentOrEmptyDirectory, status.st_mode & S_IFMT == S_IFDIR {
      // A directory that cannot be listed is treated as not empty.
      if (try? DirectoryListing.names(in: target))?.isEmpty ?? false { return }
      throw CommandFailure(.failure, "\(target) is not empty: name another directory, or empty it first")
    }
    throw CommandFailure(.failure, "\(target) already exists: name another file, or remove it first")
  }

  /// Gives the file its name. Does not replace a file that has been created under this name in the meantime, unless
  /// `replacing` is true. Calls `check` when the file is on disk; if it throws, there is no new file.
  consuming func publishFile(replacing: Bool = false, onceSynced check: () throws -> Void = {}) throws {
    try publish(replacing: replacing, check)
  }

  /// Gives the directory its name, replacing an empty directory. Calls `check` as `publishFile` does.
  consuming func publishDirectory(onceSynced check: () throws -> Void = {}) throws {
    try publish(replacing: true, check)
  }

  private func publish(replacing: Bool, _ check: () throws -> Void) throws {
    do { try DurableTree.sync(anchoredPath) } catch { throw failure(error.code ?? EIO) }
    try check()
    let (from, to) = (place.directory, place.parent)
    let result: Int32
    if replacing {
      result = unsafe renameat(from, name, to, name)
    } else {
      result = unsafe clinux_move_to_new(from, name, to, name)
    }
    guard result == 0 else { throw failure(errno) }
    do { try DurableTree.syncDirectory(parent) } catch {
      throw CommandFailure(.failure, "\(target): created, but a power failure may still lose it: \(error)")
    }
  }

  private func failure(_ code: Int32) -> CommandFailure {
    CommandFailure(.failure, "cannot create \(target): \(System.message(code))")
  }
}
