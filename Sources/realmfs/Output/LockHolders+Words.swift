// The processes that have a realm open, as the commands print them.
import FileTree
import RealmJSON
import RealmPages

extension LockHolders {
  /// Describes the processes that have a realm open.
  static func inWords(_ holders: [LockHolder]) -> String {
    if !holders.isEmpty { return names(of: holders).joined(separator: ", ") }
    return System.hasProcesses ? "no program" : "unknown, because /proc is missing"
  }

  /// Returns the names of the processes for a message. For a process that serves a mount, how to end it is added.
  static func names(of holders: [LockHolder]) -> [String] {
    var mounts: [RealmMount]?
    return holders.map { holder in
      guard holder.processID > 0, holder.name == commandName(of: "self") else {
        return holder.description
      }
      let all = mounts ?? RealmMount.all()
      mounts = all
      guard let mount = all.first(where: { $0.report?.process == holder.processID }) else { return holder.description }
      return "process \(holder.processID) (realmfs mounted at \(mount.point); 'realmfs umount \(mount.point)')"
    }
  }

  /// Returns the processes as a JSON array; null if they are unknown.
  static func json(_ holders: [LockHolder]) -> JSONValue {
    if holders.isEmpty && !System.hasProcesses { return .null }
    return .array(holders.map { .object([("pid", .number(Int($0.processID))), ("name", .string($0.name))]) })
  }
}
