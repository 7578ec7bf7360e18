// `realmfs watch`: prints a line for each new version, and runs a command if one is given.
import Glibc
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `watch`.
enum WatchCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    if arguments.has(.changes) { return try WatchChanges.run(arguments) }
    if arguments.has(.since) { throw CommandFailure(.usage, "--since goes with --changes") }
    let showsObjects = arguments.has(.diff)
    let source = showsObjects ? try WatchChanges.source(arguments) : try RealmSource(arguments)
    Interruption.watch()
    if showsObjects { signal(SIGPIPE, SIG_IGN) }
    let output = StandardOutput()
    var known = try state(source, holds: showsObjects)
    if !arguments.has(.json) {
      output.line("watching version \(known.snapshot.version)")
      try output.flush()
    }
    while true {
      if !source.realm.waitForChange(since: known.snapshot, timeout: .milliseconds(500)) {
        // In a shared realm, only `latest()` shows that another file has replaced the realm.
        guard showsObjects, try source.latest() !== known.snapshot else { continue }
      }
      let next = try state(source, holds: showsObjects)
      // Intermediate versions are not reported, but their changes are.
      if next.snapshot.version == known.snapshot.version && next.file == known.file { continue }
      let changes = next.changes(since: known)
      let former = known
      known = next
      if arguments.has(.json) { output.print(next.json(changes)) } else { output.line(next.text(changes)) }
      do {
        try output.flush()
        if showsObjects { try show(from: former, to: next, source, isJSON: arguments.has(.json)) }
      } catch {
        if showsObjects, hasNoReader { WatchChanges.exitWithoutReader() }
        throw error
      }
      if let command = arguments.value(.execute) {
        unsafe setenv("REALMFS_VERSION", "\(next.snapshot.version)", 1)
        unsafe setenv("REALMFS_CLASSES", changes.map(\.name).joined(separator: ","), 1)
        let status = System.run(["/bin/sh", "-c", command])
        if status != 0 { Log.error("the command ended with status \(status.map(String.init) ?? "unknown")") }
      }
    }
  }

  private static func state(_ source: RealmSource, holds: Bool) throws -> WatchedState {
    for _ in 0..<RealmSource.attempts {
      let hold: VersionHold?
      hold = holds ? try source.realm.hold() : nil
      let file = source.realm.location.generation
      var state = try source.onNewest { snapshot in
        try located(source.path) { try WatchedState(snapshot, file) }
      }
      state.hold = hold
      if hold == nil || hold?.snapshot === state.snapshot { return state }
    }
    throw source.tooBusy
  }

  /// Prints the objects that differ between two states.
  private static func show(
    from old: WatchedState,
    to new: WatchedState,
    _ source: RealmSource,
    isJSON: Bool
  ) throws {
    // Object keys have a different meaning in another file, so objects are matched by the names of their files.
    let areVersions = old.file == new.file && old.snapshot.version < new.snapshot.version
    let comparison = RealmComparison(old.snapshot, new.snapshot, classes: nil, areVersions: areVersions)
    let printer = DifferencePrinter(isJSON: isJSON)
    var complaints: [String] = []
    comparison.onComplaint = { complaints.append($0) }
    func areCurrent() -> Bool {
      source.realm.isCurrent(new.snapshot) && (!areVersions || source.realm.isCurrent(old.snapshot))
    }
    do {
      try comparison.run { difference in
        printer.add(difference)
        if printer.isFull {
          if !areCurrent() { throw TransferError.busy }
          try printer.flush()
        }
      }
      if !areCurrent() { throw TransferError.busy }
      for complaint in complaints { Log.error("\(source.path): \(complaint)") }
      try printer.flush()
    } catch TransferError.busy {
      Log.notice(
        "\(source.path): the objects changed up to version \(new.snapshot.version) are unknown: the version before "
          + "was overwritten"
      )
    } catch { throw CommandFailure(error, path: source.path) }
  }

  /// True if the output no longer has a reader.
  private static var hasNoReader: Bool {
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    return unsafe poll(&output, 1, 0) > 0 && output.revents & Int16(POLLERR) != 0
  }
}

/// The facts shown about a version: the number of objects of each class, and the classes that changed.
private struct WatchedState {
  /// The change of a class; a count is nil if the class does not exist.
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
  let file: Int
  /// Keeps the version readable while it is compared with the next one.
  var hold: VersionHold?
  private var classes: [ExactName: Class] = [:]

  init(_ snapshot: Snapshot, _ file: Int) throws(EngineError) {
    (self.snapshot, self.file) = (snapshot, file)
    for table in try snapshot.classes() {
      classes[ExactName(table.className ?? "")] = Class(count: table.objectCount, contentVersion: table.contentVersion)
    }
  }

  func changes(since old: WatchedState) -> [Change] {
    Set(classes.keys).union(old.classes.keys).map(\.text).sorted().compactMap { name in
      let (before, after) = (old.classes[ExactName(name)], classes[ExactName(name)])
      let isSame = before?.contentVersion == after?.contentVersion && before?.count == after?.count
      return isSame && before != nil ? nil : Change(name: name, before: before?.count, after: after?.count)
    }
  }

  func text(_ changes: [Change]) -> String {
    let words = changes.map { change in
      switch (change.before, change.after) {
      case (nil, let count?): "\(change.name) added, \(counted(count, "object"))"
      case (_?, nil): "\(change.name) removed"
      case (let before?, let after?) where before != after: "\(change.name) \(before) -> \(counted(after, "object"))"
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
