// Reads classes object by object and passes them to an export format.
//
// A batch needs no pin in the lock file against writers in other programs: it is kept only if the version it was read
// from is still the newest; otherwise it is read again from the new version.

public import RealmJSON
public import RealmPages

/// The formats of export.
public enum ExportFormat: String, CaseIterable, Sendable {
  case jsonl, json, csv, tsv, sqlite, xlsx

  private static let suffixes: [(String, Self)] = [
    (".jsonl", .jsonl), (".ndjson", .jsonl), (".json", .json), (".csv", .csv), (".tsv", .tsv), (".sqlite", .sqlite),
    (".sqlite3", .sqlite), (".db", .sqlite), (".xlsx", .xlsx),
  ]

  /// Returns the format for the suffix of a file name; nil for unknown suffixes.
  public init?(suffixOf name: String) {
    guard let found = Self.suffixes.first(where: { name.hasSuffix($0.0) }) else { return nil }
    self = found.1
  }
}

/// The destination of an export.
public enum ExportTarget: Sendable {
  /// A stream, written to a descriptor.
  case stream(Int32)
  /// A directory that does not exist yet, with a file for each class; a single file for formats without directories.
  case path(String)
  /// A file that does not exist yet.
  case file(String)
}

/// The result of an export.
public struct ExportSummary: Sendable {
  /// The number of exported classes.
  public let classes: Int
  /// The number of exported objects.
  public let objects: Int
  /// The number of damaged items that were omitted.
  public let damaged: Int
  /// The result of reading the output back; nil unless requested.
  public let verification: ExportVerification?
  /// Messages about values that the format could not represent exactly.
  public let remarks: [String]
  /// The number of values that the format could not represent at all.
  public let leftOut: Int
}

/// An export of a realm.
public struct Exporter {
  /// Decides which objects of a class are exported; created once per version.
  public typealias Filter = (ObjectCursor) throws -> Bool

  private let realm: Realm
  private let style: JSONStyle
  private let sink: any ExportSink
  /// The stored names of the classes to export; nil for all.
  private let classes: [String]?

  /// The name of the output. If no class is chosen and the output can contain only one, the class with this name is
  /// exported.
  public var name: String?
  /// Creates the filter for a class; returns nil to export all objects.
  public var filter: ((Table, Snapshot) throws -> Filter?)?
  /// Receives the number of exported objects and the total number. Throwing ends the export.
  public var onProgress: (Int, Int) throws -> Void = { _, _ in }
  /// Receives messages about damaged items that are omitted.
  public var onComplaint: (String) -> Void = { _ in }

  private static let attempts = 1000

  /// Prepares an export. The path must not exist before `run()`. With `comparesOnly`, the path is an existing SQLite
  /// database, which is only compared with what would be written.
  public init(
    _ realm: Realm,
    classes: [String]?,
    format: ExportFormat,
    to target: ExportTarget,
    style: JSONStyle = .plain,
    csv: CSVDialect = CSVDialect(),
    verifies: Bool = false,
    comparesOnly: Bool = false
  ) {
    self.realm = realm
    self.classes = classes
    self.style = style
    sink =
      switch format {
      case .jsonl: LineSink(target)
      case .json: if case .path = target { TreeSink(target) } else { LineSink(target, isArray: true) }
      case .csv: CSVSink(target, csv, suffix: ".csv")
      case .tsv: CSVSink(target, CSVDialect(delimiter: 0x09, decimalMark: csv.decimalMark), suffix: ".tsv")
      case .xlsx: XLSXSink(target)
      case .sqlite: SQLiteSink(target, verifies: verifies, comparesOnly: comparesOnly)
      }
  }

  /// Exports, and returns a summary.
  ///
  /// Cost: proportional to the size of the exported data; memory for one batch.
  public func run() throws -> ExportSummary {
    let begun = try stable { snapshot in
      let tables = try chosen(snapshot)
      try sink.begin(tables, of: snapshot)
      if filter == nil { try sink.check(counts: tables) }
      return (snapshot, tables.map(\.name), tables.reduce(0) { $0 + $1.objectCount })
    }
    var progress = Progress(total: begun.2)
    // All classes are read from one version, unless another program commits a newer one.
    var snapshot = begun.0
    for name in begun.1 { try export(name, &snapshot, &progress) }
    try sink.finish()
    return ExportSummary(
      classes: begun.1.count,
      objects: progress.exported,
      damaged: progress.complaints,
      verification: sink.verification,
      remarks: sink.remarks,
      leftOut: sink.leftOut
    )
  }

  private struct Progress {
    let total: Int
    var done = 0
    var exported = 0
    var complaints = 0
    /// The work budget for all classes of one version.
    private var sweep: (snapshot: Snapshot, effort: Effort)?

    init(total: Int) { self.total = total }

    mutating func effort(for snapshot: Snapshot) -> Effort {
      if let sweep, sweep.snapshot === snapshot { return sweep.effort }
      let effort = Effort(snapshot)
      sweep = (snapshot, effort)
      return effort
    }
  }

  /// Runs `body` on a version, and repeats it if a newer version exists when `body` returns.
  private func stable<R>(_ body: (Snapshot) throws -> R) throws -> R {
    guard let result = try realm.read(attempts: Self.attempts, latest: realm.latest, body) else {
      throw TransferError.busy
    }
    return result
  }

  /// Returns the class that the output is named after, by the same rule as for an import.
  private func namesake(_ classes: [String]) -> String? {
    guard sink.hasOneClass, let file = name?.split(separator: "/").last, let dot = file.lastIndex(of: ".") else {
      return nil
    }
    let name = ImportSource.className(String(file[..<dot]))
    return classes.contains(name) ? name : nil
  }

  /// Returns the tables of the classes to export, in slot order.
  private func chosen(_ snapshot: Snapshot) throws -> [Table] {
    let all = try snapshot.classes()
    var wanted: Set<TableKey> = []
    let classes = classes ?? namesake(all.compactMap(\.className)).map { [$0] }
    for name in classes ?? all.compactMap(\.className) {
      guard let table = all.first(named: name, \.className) else {
        throw TransferError.missingClass("no class \(name); \(KnownNames(all.compactMap(\.className)).hint(for: name))")
      }
      if table.kind == .embedded && !sink.wantsEmbeddedClasses {
        if classes == nil { continue }
        throw TransferError.missingClass("\(name) is an embedded class; its objects are exported inside their parents")
      }
      wanted.insert(table.key)
    }
    if sink.wantsEmbeddedClasses {
      // Objects with embedded objects are incomplete without the embedded classes.
      var pending = all.filter { wanted.contains($0.key) }
      while let table = pending.popLast() {
        for column in table.columns {
          guard let target = all.first(where: { $0.key == column.targetTable && $0.kind == .embedded }) else {
            continue
          }
          if wanted.insert(target.key).inserted { pending.append(target) }
        }
      }
    }
    return all.filter { wanted.contains($0.key) }
  }

  /// Exports one class.
  private func export(
    _ name: String,
    _ snapshot: inout Snapshot,
    _ progress: inout Progress
  ) throws {
    var last = ObjKey.none
    var isBegun = false
    for _ in 0..<Self.attempts {
      if !realm.isCurrent(snapshot) { snapshot = try realm.latest() }
      let version = snapshot
      let opened = Result { try version.table(named: name) }
      guard realm.isCurrent(snapshot) else { continue }
      guard let table = try opened.get() else { return warn("\(name): the class was removed meanwhile", &progress) }
      if !isBegun { try sink.beginClass(table, of: snapshot) }
      isBegun = true
      if try export(table, snapshot, after: &last, &progress) { return }
    }
    throw TransferError.busy
  }

  /// Exports the objects after `last` from one version; returns false if a newer version was committed in the meantime.
  private func export(
    _ table: Table,
    _ snapshot: Snapshot,
    after last: inout ObjKey,
    _ progress: inout Progress
  ) throws -> Bool {
    let effort = progress.effort(for: snapshot)
    let renderer = ObjectRenderer(snapshot, style: style, sweep: effort)
    renderer.chargesTexts = true
    let reader = RescuingCursor(table, after: last, effort)
    // The filter may have been created from overwritten data, so its error is valid only if the version is still
    // current.
    let filter = Result { () throws -> Filter? in
      if let make = self.filter { try make(table, snapshot) } else { nil }
    }
    while true {
      var complaints: [String] = []
      var count = 0, exported = 0
      let outcome = Result {
        try fill(reader, renderer, try filter.get(), &complaints, &count, &exported)
      }
      guard realm.isCurrent(snapshot) else {
        try sink.dropBatch()
        return false
      }
      let isEnd = try outcome.get()
      for complaint in complaints { warn(complaint, &progress) }
      try sink.keepBatch()
      last = reader.last
      progress.done += count
      progress.exported += exported
      try onProgress(progress.done, progress.total)
      if isEnd { return true }
    }
  }

  private func warn(_ text: String, _ progress: inout Progress) {
    progress.complaints += 1
    onComplaint(text)
  }

  /// Passes objects to the sink until the batch is full; returns true at the end of the class.
  private func fill(
    _ reader: RescuingCursor,
    _ renderer: ObjectRenderer,
    _ filter: Filter?,
    _ complaints: inout [String],
    _ count: inout Int,
    _ exported: inout Int
  ) throws -> Bool {
    while !sink.isBatchFull && count < Self.batchLimit {
      guard reader.next(&complaints) else { return true }
      count += 1
      do {
        if let filter, try !filter(reader.cursor) { continue }
        try sink.add(reader.cursor, renderer)
        exported += 1
      } catch {
        guard let damage = error.damage else { throw error }
        complaints.append(damage)
      }
    }
    return false
  }

  /// A batch ends after this many objects, even if a filter accepts none.
  private static let batchLimit = 50_000
}
