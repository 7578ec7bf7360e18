// `realmfs watch`: a line for each new version, and a command if one is given.
import Glibc
import RealmJSON
import RealmPages

/// The command `watch`.
enum WatchCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    if arguments.has(.changes) { return try WatchChanges.run(arguments) }
    if arguments.has(.since) { throw CommandFailure(.usage, "--since goes with --changes") }
    let source = try RealmSource(arguments)
    Interruption.watch()
    let output = StandardOutput()
    var known = try state(source)
    if !arguments.has(.json) {
      output.line("watching version \(known.snapshot.version)")
      try output.flush()
    }
    while true {
      if !source.realm.waitForChange(since: known.snapshot, timeout: .milliseconds(500)) { continue }
      let next = try state(source)
      // A version that came between is not seen; what it changed is.
      if next.snapshot.version == known.snapshot.version { continue }
      let changes = next.changes(since: known)
      known = next
      if arguments.has(.json) { output.print(next.json(changes)) } else { output.line(next.text(changes)) }
      try output.flush()
      if let command = arguments.value(.execute) {
        setenv("REALMFS_VERSION", "\(next.snapshot.version)", 1)
        setenv("REALMFS_CLASSES", changes.map(\.name).joined(separator: ","), 1)
        let status = System.run(["/bin/sh", "-c", command])
        if status != 0 { Log.error("the command ended with status \(status.map(String.init) ?? "unknown")") }
      }
    }
  }

  private static func state(_ source: RealmSource) throws(CommandFailure) -> WatchedState {
    try source.onNewest { (snapshot) throws(CommandFailure) in
      do throws(FormatError) { return try WatchedState(snapshot) } catch {
        throw CommandFailure(error, reading: source.path)
      }
    }
  }
}

/// What a version is told by: the number of objects of each class, and whether anything in it changed.
private struct WatchedState {
  /// How a class differs; nil where it is not there.
  struct Change {
    let name: String
    let before: Int?
    let after: Int?
  }

  private struct Class {
    let count: Int
    let contentVersion: UInt64
  }

  let snapshot: Snapshot
  private var classes: [String: Class] = [:]

  init(_ snapshot: Snapshot) throws(FormatError) {
    self.snapshot = snapshot
    for table in try snapshot.classes() {
      classes[table.className ?? ""] = Class(count: table.objectCount, contentVersion: table.contentVersion)
    }
  }

  func changes(since old: WatchedState) -> [Change] {
    Set(classes.keys).union(old.classes.keys).sorted().compactMap { name in
      let (before, after) = (old.classes[name], classes[name])
      let isSame = before?.contentVersion == after?.contentVersion && before?.count == after?.count
      return isSame && before != nil ? nil : Change(name: name, before: before?.count, after: after?.count)
    }
  }

  func text(_ changes: [Change]) -> String {
    let words = changes.map { change in
      switch (change.before, change.after) {
      case (nil, let count?): "\(change.name) added, \(count) objects"
      case (_?, nil): "\(change.name) removed"
      case (let before?, let after?) where before != after: "\(change.name) \(before) -> \(after) objects"
      default: "\(change.name) changed"
      }
    }
    return "version \(snapshot.version): \(words.isEmpty ? "no class changed" : words.joined(separator: "; "))"
  }

  func json(_ changes: [Change]) -> String {
    let out = OutputBuffer()
    out.append("{\"version\":")
    out.append(decimal: snapshot.version)
    out.append(",\"classes\":[")
    for (index, change) in changes.enumerated() {
      if index > 0 { out.append(",") }
      out.append("{\"name\":")
      out.append(quoted: change.name)
      for (name, count) in [("before", change.before), ("after", change.after)] {
        out.append(",")
        out.append(quoted: name)
        out.append(":")
        if let count { out.append(decimal: Int64(count)) } else { out.append("null") }
      }
      out.append("}")
    }
    out.append("]}\n")
    return out.string
  }
}
