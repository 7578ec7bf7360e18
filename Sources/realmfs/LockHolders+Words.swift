// Who has a realm open, as the commands print it.
import RealmJSON
import RealmPages

extension LockHolders {
  /// Who has a realm open, for people.
  static func inWords(_ holders: [LockHolder]) -> String {
    if !holders.isEmpty { return holders.map(\.description).joined(separator: ", ") }
    return System.hasProcesses ? "nobody" : "unknown, because /proc is missing"
  }

  /// The same for programs; null where it is not known.
  static func json(_ holders: [LockHolder]) -> JSONValue {
    if holders.isEmpty && !System.hasProcesses { return .null }
    return .array(holders.map { .object([("pid", .number(Int($0.processID))), ("name", .string($0.name))]) })
  }
}
