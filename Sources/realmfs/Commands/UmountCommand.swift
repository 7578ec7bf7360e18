// `realmfs umount`: ends a mount of ours, and only of ours.

import Glibc
import RealmJSON
import RealmPages

/// The command `umount`.
enum UmountCommand {
  /// The maximum number of files that are listed by name.
  private static let maxPaths = 20

  /// Ends a mount. With `mayRefuse`, fails if files exist only in memory. Otherwise the server stores these files or
  /// logs their names, as when umount(8) runs at shutdown.
  static func run(_ arguments: Arguments, mayRefuse: Bool = true) throws -> ExitCode {
    let given = arguments.operands[0]
    let path = System.realMountPoint(given)
    guard System.hasProcesses else {
      throw CommandFailure(
        .mountPoint,
        "\(given): mounts cannot be listed, because /proc is missing: mount it ('mount -t proc proc /proc')"
      )
    }
    guard let entry = MountTable.entry(at: path) else {
      throw CommandFailure(.mountPoint, "\(given): nothing is mounted here\(hint(path))")
    }
    guard entry.isOurs else {
      throw CommandFailure(.mountPoint, "\(given): a mount of type \(entry.type), not of realmfs; use umount(8)")
    }
    let isLazy = arguments.has(.lazy)
    let (server, isSilent) = isLazy ? (nil, false) : MountServer.ask(entry)
    let unsaved = isLazy || isSilent ? [] : MountServer.unsavedFiles(of: entry.mountPoint)
    if arguments.has(.discard) {
      for path in unsaved { remove(entry.mountPoint + "/" + path) }
    } else if mayRefuse, !unsaved.isEmpty {
      throw holdsUnsaved(given, unsaved)
    }
    try MountPoint.unmount(entry.mountPoint, isLazy: isLazy)
    if let server, !server.hasEnded(within: 10_000) {
      Log.notice("\(given) is unmounted; the process that served it is still busy with \(entry.source)")
    }
    if isSilent {
      Log.notice(
        "\(given) is unmounted; the process that served it does not answer and may still have data to write to disk"
      )
    }
    return .done
  }

  /// Removes the file with this printable path, or drops a transaction. The server stores or logs what cannot be
  /// removed.
  private static func remove(_ path: String) {
    // A mount of another program that claims to be ours could return the path of any file.
    if path.split(separator: "/").contains("..") { return }
    if unsafe unlink(path) == 0 || rmdir(path) == 0 { return }
    // The path has control characters escaped, which only names of files have: others are escaped as %XX.
    let folder = System.folder(of: path), wanted = path.dropFirst(folder.utf8.count + 1)
    // A folder that cannot be listed has nothing to remove.
    for name in (try? DirectoryListing.names(in: folder)) ?? [] where name.printable == wanted {
      unsafe unlink(folder + "/" + name)
    }
  }

  private static func holdsUnsaved(_ given: String, _ paths: [String]) -> CommandFailure {
    listUnsaved(paths)
    return CommandFailure(
      .mountPoint,
      "\(given) stays mounted, because these files are not in the realm: save or remove them, or use --discard"
    )
  }

  /// Prints the paths of files that exist only in memory, the first `maxPaths` of them.
  static func listUnsaved(_ paths: [String]) {
    for path in paths.prefix(maxPaths) { Log.error("\(path) is in memory only") }
    if paths.count > maxPaths {
      Log.error("\(counted(paths.count - maxPaths, "more file is", "more files are")) in memory only")
    }
  }

  /// Suggests the mount that the user probably meant: the mount of a realm file, or the mount that contains the path.
  private static func hint(_ path: String) -> String {
    let mounts = MountTable.entries().filter(\.isOurs)
    if let mount = mounts.last(where: { $0.source == path }) {
      return "; the file is mounted at \(mount.mountPoint): 'realmfs umount \(mount.mountPoint)'"
    }
    guard let mount = mounts.last(where: { path.hasPrefix($0.mountPoint + "/") }) else { return "" }
    return "; it is in a mount: 'realmfs umount \(mount.mountPoint)'"
  }
}
