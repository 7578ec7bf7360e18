// Files and directories that appear complete or not at all: they are made in a directory of their own beside the
// target, which goes away with everything in it unless the result was published. They get their name when everything in
// them is on disk, so a power cut does not leave a name with nothing behind it.
//
// The folder of the target and the directory are opened once. Publishing and removing name files by these descriptors,
// and so does making where `anchoredPath` is used: a user who may rename things in the folder redirects nothing.
import CLinux
import Glibc
import RealmPages
import RealmTransfer

/// Where something is made before it gets its name.
struct Staging: ~Copyable {
  private let target: String
  private let parent: String
  /// The last part of the target.
  private let name: String
  /// The directory that goes away.
  private let directory: String
  /// Where to make it.
  let path: String
  private let place: Place
  private let cleanup: Interruption.Cleanup

  /// The folder of the target and the directory in it, open.
  private final class Place: Sendable {
    let parent: Int32
    let name: String
    let directory: Int32

    /// Makes a directory of a new name, for this user alone.
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

    /// Removes `result` and everything else in the directory, and the directory itself if its name still leads to it.
    func remove(_ result: String) {
      // The work can still go on and reaches the result by its name. Under another name nothing can be added to it.
      unsafe renameat(directory, result, directory, name)
      // A file that was being made can still come: then once more.
      for _ in 0..<10 {
        Self.empty(directory)
        if unsafe unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY { return }
      }
    }

    private static func empty(_ directory: Int32) {
      // What cannot be listed cannot be emptied either.
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

  /// What a target may be before it is published.
  enum Requirement {
    case absent
    /// A directory without files, or nothing.
    case absentOrEmptyDirectory
    /// It is not for this object to publish.
    case anything
  }

  /// Prepares for a target, which is not touched until `publish()`.
  init(for target: String, _ requirement: Requirement = .absent) throws(CommandFailure) {
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
    do throws(Errno) { place = try Place(in: parent) } catch {
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

  /// `path` for this process alone, which leads there whatever becomes of the names on the way.
  var anchoredPath: String { System.hasProcesses ? "/proc/self/fd/\(place.directory)/\(name)" : path }

  /// A folder for this user alone, on the file system of the target, that goes away with everything in it.
  var folder: String { directory }

  /// A failure of what is made there, as one of the target, which is the name that the user knows.
  func named(_ failure: CommandFailure) -> CommandFailure {
    failure.saying(failure.message.replacing(path, with: target).replacing(anchoredPath, with: target))
  }

  private static func check(_ target: String, _ requirement: Requirement) throws(CommandFailure) {
    if requirement == .anything { return }
    var status = stat()
    if unsafe lstat(target, &status) != 0 { return }
    if requirement == .absentOrEmptyDirectory, status.st_mode & S_IFMT == S_IFDIR {
      // A directory that cannot be listed is not empty.
      if (try? DirectoryListing.names(in: target))?.isEmpty ?? false { return }
      throw CommandFailure(.failure, "\(target) is not empty: name another directory, or empty it first")
    }
    throw CommandFailure(.failure, "\(target) already exists: name another file, or remove it first")
  }

  /// Gives the file its name; nothing that got this name meanwhile is replaced.
  consuming func publishFile() throws(CommandFailure) {
    try publish(replacing: false)
  }

  /// Gives the directory its name, in place of an empty one.
  consuming func publishDirectory() throws(CommandFailure) {
    try publish(replacing: true)
  }

  private func publish(replacing: Bool) throws(CommandFailure) {
    do throws(EngineError) { try DurableTree.sync(anchoredPath) } catch { throw failure(error.code ?? EIO) }
    let (from, to) = (place.directory, place.parent)
    let result: Int32
    if replacing {
      result = unsafe renameat(from, name, to, name)
    } else {
      result = unsafe clinux_move_to_new(from, name, to, name)
    }
    guard result == 0 else { throw failure(errno) }
    do throws(EngineError) { try DurableTree.syncDirectory(parent) } catch {
      throw CommandFailure(.failure, "\(target): created, but a power failure may still lose it: \(error)")
    }
  }

  private func failure(_ code: Int32) -> CommandFailure {
    CommandFailure(.failure, "cannot create \(target): \(System.message(code))")
  }
}
