// The state of a mirror and its server, in a table of the mirror itself. It changes in the same commits as the data, so
// a crash cannot separate them. Source: docs/format/7-sync.md 7.10.

public import RealmPages

/// The first object of the table `sync_mirror`; further objects contain parts of a long changeset.
public struct MirrorState: Hashable, Sendable {
  /// The name of the table, which is not a class.
  public static let tableName = Snapshot.mirrorTable
  private static let layout: Int64 = 1
  /// A value in a realm holds at most 16 MB, so a longer changeset continues in further objects of the table.
  private static let partSize = 1 << 23

  /// The full address of the realm, without a token.
  public var url = ""
  /// The identity for downloads; it never uploads.
  public var reader = FileIdentity.none
  /// The version of the server's history that the mirror contains.
  public var version: Int64 = 0
  /// The last version and salt that the server sent.
  public var latest = SaltedVersion(version: 0, salt: 0)
  /// True if everything that existed when the download began has been downloaded.
  public var isComplete = false
  /// The identity for uploads; it applies no changes.
  public var writer = FileIdentity.none
  /// The number of the writer's last upload.
  public var writerVersion: Int64 = 0
  /// The time of the last upload. Later uploads never have an earlier time, whatever the clock shows.
  public var writerTime: Int64 = 0
  /// The upload that was sent or is about to be sent. A short one is kept after it was acknowledged, until the next
  /// upload.
  public var pending: PendingUpload?
  /// The server's message for the last upload that it rejected.
  public var refused: String?
  /// The version of the file after the mirror's last commit; any other version was committed by another program.
  public var fileVersion: Int64 = 0

  /// True if a server has ever answered; the mirror then belongs to it.
  public var hasBegun: Bool { reader != .none || version > 0 }

  /// Creates the state before the first download.
  init(url: String) { self.url = url }

  private static let columns: [(name: String, type: ValueType, isNullable: Bool)] = [
    ("layout", .int, false), ("url", .string, false), ("reader_file", .int, false), ("reader_salt", .int, false),
    ("download_version", .int, false), ("latest_version", .int, false), ("latest_salt", .int, false),
    ("complete", .bool, false), ("writer_file", .int, false), ("writer_salt", .int, false),
    ("writer_version", .int, false), ("writer_base", .int, false), ("pending", .data, true),
    ("pending_version", .int, false), ("pending_base", .int, false), ("pending_time", .int, false),
    ("refused", .string, true), ("file_version", .int, false),
  ]

  private var values: [Value] {
    [
      .int(Self.layout), .text(url), .int(reader.file), .int(reader.salt), .int(version), .int(latest.version),
      .int(latest.salt), .bool(isComplete), .int(writer.file), .int(writer.salt), .int(writerVersion), .int(0),
      part(0).map { .data($0) } ?? .null, .int(pending?.version ?? 0), .int(pending?.base ?? 0),
      .int(writerTime), refused.map { .text($0) } ?? .null, .int(fileVersion),
    ]
  }

  private static let pendingColumn = 12

  /// Returns part `index` of the pending changeset; nil if there is no such part.
  private func part(_ index: Int) -> [UInt8]? {
    guard let changeset = pending?.changeset else { return nil }
    let start = index * Self.partSize
    if start >= changeset.count && index > 0 { return nil }
    return Array(changeset[start..<min(start + Self.partSize, changeset.count)])
  }

  /// Reads the state from a version of a mirror; nil if the realm is not a mirror.
  public init?(in snapshot: Snapshot) throws(SyncError) {
    do throws(EngineError) {
      guard let table = try snapshot.table(named: Self.tableName) else { return nil }
      let cursor = ObjectCursor(table)
      guard try cursor.next(), table.columns.map(\.name) == Self.columns.map(\.name) else {
        throw EngineError.damaged("a mirror with an unknown layout", place: Self.tableName)
      }
      var values: [Value] = []
      for index in table.columns.indices { values.append(try Value(copying: cursor.value(index))) }
      guard values[0] == .int(Self.layout) else {
        throw EngineError.damaged("a mirror with an unknown layout", place: Self.tableName)
      }
      self.init(values)
      while try cursor.next() {
        if case .data(let part) = try Value(copying: cursor.value(Self.pendingColumn)) { pending?.changeset += part }
      }
    } catch { throw SyncError(error) }
  }

  private init(_ values: [Value]) {
    func int(_ index: Int) -> Int64 { if case .int(let value) = values[index] { value } else { 0 } }
    func text(_ index: Int) -> String? {
      if case .string(let bytes) = values[index] { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
    self.init(url: text(1) ?? "")
    reader = FileIdentity(file: int(2), salt: int(3))
    (version, latest) = (int(4), SaltedVersion(version: int(5), salt: int(6)))
    isComplete = values[7] == .bool(true)
    writer = FileIdentity(file: int(8), salt: int(9))
    writerVersion = int(10)
    writerTime = int(15)
    if case .data(let changeset) = values[Self.pendingColumn] {
      pending = PendingUpload(version: int(13), base: int(14), time: int(15), changeset: changeset)
    }
    (refused, fileVersion) = (text(16), int(17))
  }

  /// Writes the state into a transaction, replacing `former`; creates the table if it does not exist.
  func store(in transaction: borrowing WriteTransaction, over former: MirrorState) throws(EngineError) {
    let table: TableKey, object = ObjKey(0), isNew: Bool
    if let known = try transaction.tableKey(named: Self.tableName) {
      (table, isNew) = (known, false)
    } else {
      (table, isNew) = (try transaction.addTable(Self.tableName), true)
      for column in Self.columns {
        _ = try transaction.addColumn(table, ColumnSpec(column.name, column.type, isNullable: column.isNullable))
      }
      _ = try transaction.create(table, key: object)
    }
    for (column, value) in zip(try transaction.columns(of: table), values) {
      if isNew {
        try transaction.set(table, object, column.key, value)
      } else {
        try transaction.assign(table, object, column.key, value)
      }
    }
    if pending != former.pending { try storeParts(in: transaction, table, over: former) }
  }

  /// Writes the parts of the pending changeset that do not fit the first object.
  private func storeParts(
    in transaction: borrowing WriteTransaction,
    _ table: TableKey,
    over former: MirrorState
  ) throws(EngineError) {
    var index = 1
    while former.part(index) != nil {
      try transaction.delete(table, ObjKey(Int64(index)))
      index += 1
    }
    guard let column = try transaction.columns(of: table).dropFirst(Self.pendingColumn).first else { return }
    index = 1
    while let part = part(index) {
      _ = try transaction.create(table, key: ObjKey(Int64(index)), values: [(column.key, .data(part))])
      index += 1
    }
  }
}
