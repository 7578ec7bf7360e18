// The upgrade of a file of an older format to format 24, in place, with a backup of the old file.

import Glibc

/// The upgrade of a realm file.
public enum RealmUpgrade {
  /// The result of an upgrade.
  public struct Outcome: Sendable {
    /// The format that the file had.
    public let from: Int
    /// The path of the backup; nil if nothing was done.
    public let backup: String?
    /// Sizes in bytes.
    public let sizes: RealmCopy.Sizes
    /// Descriptions of the data that could not be kept.
    public let notes: [String]
  }

  /// The format of upgraded files.
  public static let format = 24

  /// Upgrades a realm to format 24. First copies the file unchanged to `NAME.vNN.backup.realm` in its directory, or in
  /// `backupFolder`; then replaces it with the new file once that is durable. No other program may have the realm open.
  /// A realm with sync history is refused, because its server would not recognize it. Unless `verifies` is false, the
  /// new file is verified first: if it is not sound, it is deleted, and the `damaged` error names the cause.
  ///
  /// - Throws: `inUse`, `notApplicable`, `damaged`, `cancelled`, or `file`. The realm is then unchanged.
  public static func run(
    _ configuration: Configuration,
    backupFolder: String? = nil,
    verifies: Bool = true,
    observer: CopyObserver? = nil
  ) throws(EngineError) -> Outcome {
    let path = RealmLinks.file(configuration.path)
    return try RealmCopy.withExclusiveAccess(configuration) { (old) throws(EngineError) in
      if old.fileFormat == format || old.fileFormat == 0 {
        let sizes = RealmCopy.Sizes(before: old.logicalSize, after: old.logicalSize)
        return Outcome(from: old.fileFormat, backup: nil, sizes: sizes, notes: [])
      }
      if old.historyType > 2 {
        throw EngineError(
          .notApplicable,
          "\(path): a synced realm of format \(old.fileFormat): make a local copy with 'realmfs convert --local', and "
            + "upgrade that"
        )
      }
      let backup = backupPath(of: path, format: old.fileFormat, in: backupFolder)
      let isNew = try copyVerbatim(path, to: backup)
      do throws(EngineError) {
        let (sizes, notes) = try upgrade(old, configuration, verifies, observer)
        return Outcome(from: old.fileFormat, backup: backup, sizes: sizes, notes: notes)
      } catch {
        // The realm is unchanged, so the backup is not needed.
        if isNew { unsafe unlink(backup) }
        throw error
      }
    }
  }

  private static func upgrade(
    _ old: Snapshot,
    _ configuration: Configuration,
    _ verifies: Bool,
    _ observer: CopyObserver?
  ) throws(EngineError) -> (RealmCopy.Sizes, [String]) {
    let path = RealmLinks.file(configuration.path), key = configuration.encryptionKey
    let expected = RealmCopy.expectedSize(old)
    let version: VersionWriter
    var notes: [String] = []
    if old.fileFormat >= 10 {
      let group = try EngineError.locating(at: path) { () throws(EngineError) in
        let upgrade = try FormatUpgrade(old)
        try upgrade.run()
        return upgrade.group
      }
      let keepsHistory = old.historyType == 2
      version = try EngineError.locating(at: path) { () throws(EngineError) in
        try VersionWriter(group, format: format, keepsHistory: keepsHistory)
      }
    } else {
      let work = try WorkRealm(beside: path, key: key)
      let tables = try EngineError.locating(at: path) { () throws(EngineError) in
        var tables: [LegacySource] = []
        for key in try old.tableKeys() {
          if let table = try old.table(key) { tables.append(LegacySource(table: table)) }
        }
        return tables
      }
      let rebuilder = try ObjectRebuilder(
        tables,
        of: old.arena,
        path: path,
        into: work,
        toleratesLoss: false,
        expected: expected,
        observer: observer
      )
      // Formats before 10 kept the primary keys in a table.
      try rebuilder.run(without: ["pk"])
      notes = rebuilder.tallies.flatMap(\.notes)
      version = VersionWriter(work.snapshot, keepsHistory: false)
    }
    let sizes = try RealmCopy.write(
      version,
      of: path,
      to: path,
      key: key,
      replacing: true,
      expected: expected,
      check: verifies ? CopyCheck(original: old) : nil,
      observer: observer
    )
    return (sizes ?? RealmCopy.Sizes(before: 0, after: 0), notes)
  }

  /// The path of the backup that the SDKs create when they upgrade a file. Source: docs/format/3-commit.md 3.11.
  static func backupPath(of path: String, format: Int, in folder: String?) -> String {
    let stem = path.hasSuffix(".realm") ? String(path.dropLast(5)) : path + "."
    let name = "\(stem)v\(format).backup.realm"
    guard let folder else { return name }
    let last = name.lastIndex(of: "/").map { name.index(after: $0) } ?? name.startIndex
    return folder + (folder.hasSuffix("/") ? "" : "/") + name[last...]
  }

  /// Copies the bytes of a file. Returns false if `target` exists with equal content; throws if the content differs.
  private static func copyVerbatim(_ path: String, to target: String) throws(EngineError) -> Bool {
    let source = try FileHandle(path: path)
    let existing: FileHandle? = unsafe access(target, F_OK) == 0 ? try FileHandle(path: target) : nil
    if let existing {
      let isSame = try forEachPiece(of: source) { (piece, offset) throws(EngineError) in
        try existing.bytes(piece.count + 1, at: offset).prefix(piece.count).elementsEqual(piece)
      }
      let isEqual = try existing.status().size == source.status().size
      if !isSame || !isEqual { throw .failed("backup", target, EEXIST) }
      return false
    }
    let file = try NewFile(path: target)
    _ = try forEachPiece(of: source) { (piece, offset) throws(EngineError) in
      try unsafe piece.withUnsafeBytesOf { (bytes) throws(EngineError) in
        try unsafe file.handle.write(bytes, at: offset)
      }
      return true
    }
    try file.takeProtection(of: source)
    try file.put(replacing: false)
    return true
  }

  private static func forEachPiece(
    of file: FileHandle,
    _ body: ([UInt8], Int) throws(EngineError) -> Bool
  ) throws(EngineError) -> Bool {
    var offset = 0
    while true {
      let piece = try file.bytes(1 << 20, at: offset)
      if piece.isEmpty { return true }
      if try !body(piece, offset) { return false }
      offset += piece.count
    }
  }
}
