// `realmfs info`: describes a file without changing it, or explains why it cannot be opened.
import RealmJSON
import RealmPages
import RealmSync

/// The command `info`.
enum InfoCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    if arguments.operands.count > 1 {
      return try arguments.reportEach { configuration in
        let source = try RealmSource(configuration)
        let facts = try source.onNewest { snapshot in
          try RealmFacts(source, snapshot, isLong: arguments.has(.long))
        }
        let holders = LockHolders.ofRealm(at: System.absolute(configuration.path))
        return FileReport(lines: [facts.line], json: facts.json(holders))
      }
    }
    let path = arguments.operands[0]
    let holders = LockHolders.ofRealm(at: System.absolute(path))
    let output = StandardOutput()
    // Without its key, only the external attributes of a file are examined.
    var configuration = Configuration(path: path, encryptionKey: nil, mode: .immutable)
    do {
      configuration = try RealmSource.configuration(path: path, arguments, .immutable)
      let source = try RealmSource(configuration)
      let facts = try source.onNewest { snapshot in
        try RealmFacts(source, snapshot, isLong: arguments.has(.long))
      }
      if arguments.has(.json) { output.print(facts.json(holders).text) } else { output.table(facts.lines(holders)) }
    } catch {
      let error = CommandFailure(error)
      let diagnosis = FileDiagnosis(configuration, error)
      if arguments.has(.json) {
        let told: [(String, JSONValue)] = [
          ("file", .string(path)), ("error", .string(error.message)), ("exitCode", .number(Int(error.code.rawValue))),
        ]
        output.print(JSONValue.object(told + diagnosis.json(holders)).text)
      } else {
        output.table(diagnosis.lines(holders))
      }
      try output.flush()
      throw error
    }
    try output.flush()
    return .done
  }
}

/// The facts that `info` prints about one version.
private struct RealmFacts {
  private let path: String
  private let isEncrypted: Bool
  private let fileSize: Int
  private let snapshot: Snapshot
  private let freeBytes: Int
  private let schemaVersion: UInt64?
  private let classes: [Table]
  /// Nil for a realm that is not a mirror of a synced one.
  private let mirror: MirrorFacts?
  /// Only with --long.
  private let details: [ClassDetails]?

  /// The details of a class that --long prints.
  private struct ClassDetails {
    /// The number of bytes stored for the class; nil if it is damaged.
    let bytes: Int?
    let properties: [PropertyDescription]

    init(_ table: Table, _ schema: SchemaDescription?, _ snapshot: Snapshot) {
      // If the class is damaged, only this number is missing; `check` reports the damage.
      bytes = try? snapshot.storedBytes(of: table.key)
      properties = schema?[table.className ?? ""]?.properties ?? []
    }

    var json: [(String, JSONValue)] {
      [
        ("bytes", bytes.map { .number($0) } ?? .null),
        (
          "properties",
          .array(
            properties.map { property in
              .object([
                ("name", .string(property.name)), ("type", .string(property.typeText)),
                ("index", property.index.map { .string($0 == .fullText ? "full-text" : "general") } ?? .null),
              ])
            }
          )
        ),
      ]
    }
  }

  init(_ source: RealmSource, _ snapshot: Snapshot, isLong: Bool) throws {
    path = source.path
    isEncrypted = source.realm.configuration.encryptionKey != nil
    self.snapshot = snapshot
    fileSize = try source.realm.fileStatus().size
    (freeBytes, schemaVersion, classes) = try located(source.path) {
      (try snapshot.freeBytes(), try snapshot.schemaVersion(), try snapshot.classes())
    }
    mirror = MirrorFacts(snapshot)
    // A damaged class has no description; it is reported as damaged.
    let schema = isLong ? try? SchemaDescription(snapshot) : nil
    details = isLong ? classes.map { ClassDetails($0, schema, snapshot) } : nil
  }

  /// The main facts on one line.
  var line: String {
    let objects = classes.reduce(0) { $0 + ($1.damage == nil ? $1.objectCount : 0) }
    let damaged = classes.filter { $0.damage != nil }.count
    return "\(path): format \(formatInWords)\(isEncrypted ? ", encrypted" : ""), version \(snapshot.version), "
      + "\(fileSize) bytes, \(counted(classes.count, "class", "classes")), \(counted(objects, "object"))"
      + (damaged > 0 ? ", \(counted(damaged, "damaged class", "damaged classes"))" : "")
  }

  func lines(_ holders: [LockHolder]) -> [(String, String)] {
    var lines = [
      ("file", path),
      ("format", formatInWords),
      ("encrypted", isEncrypted ? "yes" : "no"),
      ("version", "\(snapshot.version)"),
      ("file size", "\(fileSize) bytes"),
      ("logical size", "\(snapshot.logicalSize) bytes, \(freeBytes) of them free"),
      ("history", historyInWords),
      ("schema version", schemaVersion.map { "\($0)" } ?? "not stored"),
      ("in use by", LockHolders.inWords(holders)),
    ]
    if let unreached = snapshot.unreached { lines.append(("warning", unreached.description)) }
    if snapshot.looksLikeDotNetGuids {
      lines.append(
        (
          "UUIDs",
          "apparently in the byte order of .NET SDKs before 10.10; --dotnet-guids of cat, query, export and "
            + "mount shows them as the app does"
        )
      )
    }
    if let mirror { lines += mirror.lines }
    lines.append(("classes", classes.isEmpty ? "none" : "\(classes.count)"))
    for (index, table) in classes.enumerated() {
      let details = details?[index]
      let size = details.map { $0.bytes.map { ", \($0) bytes" } ?? ", size unknown" } ?? ""
      lines.append(("  \(table.className ?? "")", Self.inWords(table) + (table.damage == nil ? size : "")))
      for property in details?.properties ?? [] {
        let index = property.index.map { $0 == .fullText ? ", full-text index" : ", indexed" } ?? ""
        let key = property.name.isExactly(table.primaryKey?.name) ? ", primary key" : index
        lines.append(("    \(property.name)", property.typeText + key))
      }
    }
    return lines
  }

  func json(_ holders: [LockHolder]) -> JSONValue {
    .object([
      ("file", .string(path)),
      ("format", .number(snapshot.fileFormat)),
      ("form", .string(snapshot.isStreamingForm ? "streaming" : "ordinary")),
      ("encrypted", .bool(isEncrypted)),
      ("version", .number(Int(clamping: snapshot.version))),
      ("unreachedVersion", (snapshot.unreached?.version).map { .number(Int(clamping: $0)) } ?? .null),
      ("fileSize", .number(fileSize)),
      ("logicalSize", .number(snapshot.logicalSize)),
      ("freeBytes", .number(freeBytes)),
      ("historyType", .number(snapshot.historyType)),
      ("history", .string(historyInWords)),
      ("schemaVersion", schemaVersion.map { .number(Int(clamping: $0)) } ?? .null),
      ("dotNetGuids", .bool(snapshot.looksLikeDotNetGuids)),
      ("sync", mirror.map { .object($0.members) } ?? .null),
      (
        "classes",
        .array(
          classes.enumerated().map { index, table in
            .object(
              [
                ("name", .string(table.className ?? "")), ("kind", .string(table.kind.name)),
                ("objects", table.damage == nil ? .number(table.objectCount) : .null),
                ("primaryKey", table.primaryKey.map { .string($0.name) } ?? .null),
              ] + (details?[index].json ?? [])
            )
          }
        )
      ),
      ("lockHolders", LockHolders.json(holders)),
    ])
  }

  private var formatInWords: String {
    if snapshot.fileFormat == 0 { return "not set: the file has no content" }
    return "\(snapshot.fileFormat)" + (snapshot.isStreamingForm ? " (compact copy, streaming form)" : "")
  }

  private var historyInWords: String {
    switch snapshot.historyType {
    case 0: "none"
    case 1: "out of realm (obsolete)"
    case 2: "local (in-realm)"
    case 3: "sync client (synced realm)"
    case 4: "sync server"
    default: "unknown type \(snapshot.historyType)"
    }
  }

  private static func inWords(_ table: Table) -> String {
    if let damage = table.damage { return "damaged: \(damage)" }
    let objects = counted(table.objectCount, "object")
    let key = table.primaryKey.map { ", primary key \($0.name)" } ?? ""
    return objects + key + (table.kind == .topLevel ? "" : ", \(table.kind.name)")
  }
}
