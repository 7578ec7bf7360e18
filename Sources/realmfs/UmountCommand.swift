// `realmfs umount`: ends a mount of ours, and only of ours.

import RealmPages

/// The command `umount`.
enum UmountCommand {
  /// Files that are named one by one.
  private static let mostPaths = 20

  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let given = arguments.operands[0]
    let path = System.realMountPoint(given)
    guard System.hasProcesses else {
      throw CommandFailure(
        .mountPoint,
        "\(given): what is mounted cannot be seen, because /proc is missing: mount it ('mount -t proc proc /proc')"
      )
    }
    guard let entry = MountTable.entry(at: path) else {
      throw CommandFailure(.mountPoint, "\(given): nothing is mounted here\(hint(path))")
    }
    guard entry.isOurs else {
      throw CommandFailure(.mountPoint, "\(given): a mount of type \(entry.type), not of realmfs; use umount(8)")
    }
    let isLazy = arguments.has(.lazy)
    let (server, isSilent) = isLazy ? (nil, false) : MountServer.ask(entry.mountPoint)
    let unsaved = server?.unsavedFiles ?? []
    try MountPoint.unmount(entry.mountPoint, isLazy: isLazy)
    for path in unsaved.prefix(mostPaths) { Log.notice("\(path) was in memory only and is gone now") }
    if unsaved.count > mostPaths { Log.notice("so are \(unsaved.count - mostPaths) more files") }
    if let server, !server.hasEnded(within: 10_000) {
      Log.notice("\(given) is unmounted; the process that served it is still busy with \(entry.source)")
    }
    if isSilent {
      Log.notice(
        "\(given) is unmounted; the process that served it does not answer, and has yet to bring to disk what it saved"
      )
    }
    return .done
  }

  /// The mount that was probably meant: that of a realm file, or one that a path leads into.
  private static func hint(_ path: String) -> String {
    let mounts = MountTable.entries().filter(\.isOurs)
    if let mount = mounts.last(where: { $0.source == path }) {
      return "; the file is mounted at \(mount.mountPoint): 'realmfs umount \(mount.mountPoint)'"
    }
    guard let mount = mounts.last(where: { path.hasPrefix($0.mountPoint + "/") }) else { return "" }
    return "; it is in a mount: 'realmfs umount \(mount.mountPoint)'"
  }
}
