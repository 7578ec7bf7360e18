// Files and directories that appear complete or not at all: they are made in a directory of their own beside the
// target, which goes away with everything in it unless the result was published. They get their name when everything in
// them is on disk, so a power cut does not leave a name with nothing behind it.
import CLinux
import Glibc
import RealmPages
import RealmTransfer

/// Where something is made before it gets its name.
struct Staging: ~Copyable {
  private let target: String
  private let parent: String
  /// The directory that goes away.
  private let directory: String
  /// Where to make it.
  let path: String
  private let cleanup: Interruption.Cleanup

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
      throw CommandFailure(.usage, "\(target): not the name of something to be made")
    }
    let parent = slash.map { $0 == trimmed.startIndex ? "/" : String(trimmed[..<$0]) } ?? "."
    try Self.check(String(trimmed), requirement)
    let made: String
    do throws(Errno) { made = try System.makeDirectory(template: parent + "/.realmfs-XXXXXX") } catch {
      throw CommandFailure(.unreadable, "\(parent): cannot write there: \(System.message(error.code))")
    }
    self.target = String(trimmed)
    self.parent = parent
    directory = made
    path = made + "/" + name
    cleanup = Interruption.cleaning {
      // Under another name first, where the work, which goes on meanwhile, cannot add to it.
      let ended = made + "-"
      unsafe Self.remove(rename(made, ended) == 0 ? ended : made)
      Log.error("interrupted: nothing was left behind")
    }
    Interruption.watch()
  }

  deinit { Self.remove(directory) }

  /// A folder for this user alone, on the file system of the target, that goes away with everything in it.
  var folder: String { directory }

  /// A failure of what is made there, as one of the target, which is the name that the user knows.
  func named(_ failure: CommandFailure) -> CommandFailure {
    failure.saying(failure.message.replacing(path, with: target))
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
    throw CommandFailure(.failure, "\(target) exists and stays as it is: name another file, or remove it first")
  }

  /// Gives the file its name; nothing that got this name meanwhile is replaced.
  consuming func publishFile() throws(CommandFailure) {
    try publish { unsafe clinux_rename_to_new($0, $1) }
  }

  /// Gives the directory its name, in place of an empty one.
  consuming func publishDirectory() throws(CommandFailure) {
    try publish { unsafe rename($0, $1) }
  }

  private func publish(_ rename: (_ from: String, _ to: String) -> Int32) throws(CommandFailure) {
    do throws(EngineError) { try DurableTree.sync(path) } catch { throw failure(error.code ?? EIO) }
    if rename(path, target) != 0 { throw failure(errno) }
    do throws(EngineError) { try DurableTree.syncDirectory(parent) } catch {
      throw CommandFailure(.failure, "\(target): made, but a power cut may take it away: \(error)")
    }
  }

  private func failure(_ code: Int32) -> CommandFailure {
    CommandFailure(.failure, "\(target): cannot be made: \(System.message(code))")
  }

  /// Removes what is at a path with everything in it, as far as that is possible. A file that was being made when the
  /// path got another name can still come: then once more.
  private static func remove(_ path: String) {
    for _ in 0..<10 {
      if unsafe unlink(path) == 0 { return }
      // What cannot be listed cannot be emptied either.
      for name in (try? DirectoryListing.names(in: path)) ?? [] { remove(path + "/" + name) }
      if unsafe rmdir(path) == 0 || errno != ENOTEMPTY { return }
    }
  }
}
