// `realmfs merge`: merges two realms into a new one, which is a copy of the first with the changes of the second.
import Glibc
import RealmJSON
import RealmNames
import RealmPages
import RealmTransfer

/// The command `merge`.
enum MergeCommand {
  /// The largest number of decided conflicts that are printed one by one.
  private static let maxDecisions = 20

  static func run(_ arguments: Arguments) throws -> ExitCode {
    guard let target = arguments.value(.output) else { throw arguments.usage("name the new realm with -o OUT") }
    let paths = arguments.operands
    let key = try KeySource(arguments).map { source in
      try source.read(verbose: arguments.has(.verbose))
    }
    let base = paths.count > 2 && !isEmpty(paths[0]) ? try MergedFile(paths[0], key) : nil
    let ours = try RealmSource(toRead: paths[paths.count - 2], key)
    let theirs = try MergedFile(paths[paths.count - 1], key)
    let isReplacing = arguments.has(.force)
    let sources = [base?.source, ours, theirs.source].compactMap { $0 }
    let replaced = isReplacing ? try sources.compactMap { try ReplacedVersion($0, target) } : []
    /// Throws if replacing the target would take it from a program that has it open, or lose a commit.
    func checkTarget() throws {
      if !isReplacing { return }
      for version in replaced { try version.check() }
      try checkIsUnused(target)
    }
    try checkTarget()
    let staging = try Staging(for: target, isReplacing ? .anything : .absent)
    let conflicts = ConflictFiles(for: arguments.value(.conflicts) ?? target + ".conflicts")
    try conflicts.check()
    let result: (sizes: RealmCopy.Sizes, summary: RealmMerge.Summary)
    do {
      result = try merge(base, ours, theirs, to: staging.anchoredPath, arguments, conflicts)
    } catch { throw staging.named(CommandFailure(error)) }
    try checkTarget()
    for file in [base, theirs].compactMap({ $0 }) where !file.isUnchanged { throw file.source.tooBusy }
    // The conflicts come first: without them, the realm would look like the result of a merge without conflicts.
    try conflicts.publish(onceSynced: checkTarget)
    try staging.publishFile(replacing: isReplacing, onceSynced: checkTarget)
    return try report(result.sizes, result.summary, target, conflicts, arguments)
  }

  /// True for a file without content, which git passes if there is no base.
  private static func isEmpty(_ path: String) -> Bool {
    if case .success(let status) = System.status(path) { return status.st_size == 0 && path != "-" }
    return false
  }

  /// Throws if a program has the realm open that is to be replaced.
  private static func checkIsUnused(_ path: String) throws {
    // Reading a merged file that other programs may share holds its lock file, too.
    if LockHolders.ofRealm(at: System.absolute(path)).contains(where: { $0.processID != getpid() }) {
      throw CommandFailure(inUse: path, "\(path): in use by another program")
    }
  }

  private static func merge(
    _ base: MergedFile?,
    _ ours: RealmSource,
    _ theirs: MergedFile,
    to path: String,
    _ arguments: Arguments,
    _ conflicts: ConflictFiles
  ) throws -> (RealmCopy.Sizes, RealmMerge.Summary) {
    let key = ours.realm.configuration.encryptionKey
    let preferred = arguments.value(.prefer).flatMap { RealmMerge.Side(rawValue: $0) }
    let before = try ProgressLine.during("copying", ours.path) { (observer) throws(EngineError) in
      try RealmCopy.write(ours.realm.configuration, to: path, key: key, isForWriting: true, observer: observer)
    }
    let writer = try located(ours.path) { try RealmWriter(Configuration(path: path, encryptionKey: key)) }
    let (summary, found) = try located(arguments.operands.joined(separator: ", ")) {
      try RealmMerge.run(base: base?.snapshot, theirs: theirs.snapshot, into: writer, preferring: preferred)
    }
    for conflict in found {
      if let preferred { conflicts.note(conflict, preferred) } else { conflicts.add(conflict) }
    }
    guard case .success(let status) = System.status(path) else { return (before, summary) }
    return (RealmCopy.Sizes(before: before.before, after: Int(status.st_size)), summary)
  }

  private static func report(
    _ sizes: RealmCopy.Sizes,
    _ summary: RealmMerge.Summary,
    _ target: String,
    _ conflicts: ConflictFiles,
    _ arguments: Arguments
  ) throws -> ExitCode {
    let isDecided = arguments.has(.prefer)
    for decision in conflicts.decisions.prefix(maxDecisions) { Log.notice(decision) }
    if conflicts.decisions.count > maxDecisions {
      Log.notice("\(conflicts.decisions.count - maxDecisions) more conflicts decided like these")
    }
    var report = CopyReport(
      path: target,
      sizes: sizes,
      isNew: true,
      facts: [
        ("created", .number(summary.created)), ("changed", .number(summary.changed)),
        ("deleted", .number(summary.deleted)), ("renumbered", .number(summary.renumbered)),
        ("conflicts", .number(isDecided ? 0 : summary.conflicts)),
        ("decided", .number(isDecided ? summary.conflicts : 0)),
      ]
    )
    report.notes = ["\(summary.created) created, \(summary.changed) changed, \(summary.deleted) deleted"]
    if summary.renumbered > 0 {
      report.notes.append("\(counted(summary.renumbered, "new object")) of THEIRS without a primary key got new keys")
    }
    if !arguments.has(.quiet) { try report.print(arguments) }
    if isDecided || summary.conflicts == 0 { return .done }
    Log.error(
      "\(target): \(counted(summary.conflicts, "conflict")), where it has the values of OURS; see \(conflicts.path)"
    )
    return .failure
  }
}

extension RealmSource {
  /// Opens a file to be merged or compared. The key applies only to a file that is encrypted.
  init(toRead path: String, _ key: EncryptionKey?) throws {
    do {
      self = try RealmSource.pinned(Configuration(path: path, encryptionKey: key, mode: .immutable))
    } catch {
      let reason = (error as? EngineError)?.reason
      guard key != nil, reason == .wrongKey || reason == .notEncrypted else { throw error }
      // Only another file may be encrypted. If this one cannot be opened without a key either, report the first error.
      guard let plain = try? RealmSource.pinned(Configuration(path: path, mode: .immutable)) else { throw error }
      self = plain
    }
  }
}

/// A file whose newest version is merged into another.
private struct MergedFile {
  let source: RealmSource
  /// Keeps the version in a realm that other programs share.
  private let hold: VersionHold

  var snapshot: Snapshot { hold.snapshot }

  /// False if another program may have overwritten the version.
  var isUnchanged: Bool { source.realm.isCurrent(snapshot) }

  init(_ path: String, _ key: EncryptionKey?) throws {
    let source = try RealmSource(toRead: path, key)
    hold = try located(path) { try source.realm.hold() }
    self.source = source
  }
}

/// The version of a merged file that OUT replaces.
private struct ReplacedVersion {
  private let source: RealmSource
  private let target: String
  private let file: Identity
  private let version: UInt64

  /// A file, whatever its name.
  private struct Identity: Equatable {
    let device: dev_t
    let inode: ino_t

    init?(_ path: String) {
      guard case .success(let status) = System.status(path) else { return nil }
      (device, inode) = (status.st_dev, status.st_ino)
    }
  }

  /// Remembers the newest version of a merged file; nil if `target` is another file.
  init?(_ source: RealmSource, _ target: String) throws {
    guard let file = Identity(target), file == Identity(source.path) else { return nil }
    (self.source, self.target, self.file) = (source, target, file)
    version = try located(source.path) { try source.latest().version }
  }

  /// Throws if another program has committed to the file, or replaced it, since it was remembered.
  func check() throws {
    let newest = try located(source.path) { try source.latest().version }
    if newest != version || Identity(target) != file {
      throw CommandFailure(.inUse, "\(target): changed while it was merged; merge again")
    }
  }
}

/// The directory of conflicts, one file for each object: CLASS/NAME.json.
private final class ConflictFiles {
  let path: String
  /// Descriptions of the conflicts that were decided for a side.
  private(set) var decisions: [String] = []
  private var files: [(directory: String, name: String, text: String)] = []

  init(for path: String) { self.path = path }

  /// Throws if the directory exists and is not empty.
  func check() throws { _ = try Staging(for: path, .absentOrEmptyDirectory) }

  func note(_ conflict: RealmMerge.Conflict, _ side: RealmMerge.Side) {
    let values = conflict.properties.isEmpty ? "" : " (\(conflict.properties.joined(separator: ", ")))"
    decisions.append(
      "\(conflict.className)/\(conflict.name): \(conflict.reason)\(values); decided for \(side.rawValue.uppercased())"
    )
  }

  func add(_ conflict: RealmMerge.Conflict) {
    let out = OutputBuffer()
    out.append("{\"class\":")
    out.append(quoted: conflict.className)
    out.append(",\"name\":")
    out.append(quoted: conflict.name)
    out.append(",\"reason\":")
    out.append(quoted: conflict.reason)
    out.append(",\"properties\":[")
    for (index, property) in conflict.properties.enumerated() {
      if index > 0 { out.append(",") }
      out.append(quoted: property)
    }
    out.append("]")
    let sides = [("base", conflict.base), ("ours", conflict.ours), ("theirs", conflict.theirs)]
    for (name, text) in sides {
      out.append(",")
      out.append(quoted: name)
      out.append(":")
      out.append(Array((text ?? "null").utf8))
    }
    out.append("}\n")
    files.append((NameEscaping.directory(of: conflict.className), conflict.name, out.string))
  }

  /// Writes the files, if there are any. Calls `check` when they are on disk, before the directory gets its name.
  func publish(onceSynced check: () throws -> Void) throws {
    if files.isEmpty { return }
    let staging = try Staging(for: path, .absentOrEmptyDirectory), root = staging.anchoredPath
    var directories: Set<String> = []
    try make(root)
    for file in files {
      let directory = "\(root)/\(file.directory)"
      if directories.insert(file.directory).inserted { try make(directory) }
      let output = unsafe open("\(directory)/\(file.name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if output < 0 { throw failure(errno) }
      defer { close(output) }
      let code = StandardOutput.write(Array(file.text.utf8), to: output)
      if code != 0 { throw failure(code) }
    }
    try staging.publishDirectory(onceSynced: check)
  }

  private func make(_ directory: String) throws {
    if unsafe mkdir(directory, 0o700) != 0 { throw failure(errno) }
  }

  private func failure(_ code: Int32) -> CommandFailure {
    CommandFailure(.failure, "cannot create \(path): \(System.message(code))")
  }
}
