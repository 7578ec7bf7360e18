// `/api/export`: downloads. An export is written to a temporary file, which has been unlinked by the time it is sent.

import Glibc
import RealmJSON
import RealmPages
import RealmQuery
import RealmTransfer
import Synchronization

/// The exports in progress.
final class Exports: Sendable {
  /// The directories of exports; nil once the server is stopping.
  private let folders = Mutex<Set<String>?>([])

  /// The maximum number of concurrent exports: each occupies a worker.
  private static let most = 3

  /// Creates a directory for an export. Throws if too many exports are in progress or the system call fails.
  fileprivate func begin(isSecret: Bool) throws -> String {
    // The content of an encrypted realm must not reach a disk.
    let disk = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
    let base = isSecret ? "/dev/shm" : disk
    var template = Array((base + "/realmfs-browse-XXXXXX").utf8CString)
    return try folders.withLock { all in
      guard let folders = all else { throw WebError(503, "the server ends") }
      if folders.count >= Self.most { throw WebError(503, "\(Self.most) downloads are being made; try again") }
      guard unsafe mkdtemp(&template) != nil else {
        throw WebError(500, "cannot create a temporary file in \(base): \(unsafe String(cString: strerror(errno)))")
      }
      let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      all?.insert(folder)
      return folder
    }
  }

  fileprivate func end(_ folder: String) {
    folders.withLock { folders in
      Self.remove(folder)
      folders?.remove(folder)
    }
  }

  /// Removes the temporary files of incomplete exports, and rejects further exports.
  func removeAll() { for folder in folders.withLock({ $0.take() }) ?? [] { Self.remove(folder) } }

  private static func remove(_ folder: String) {
    // SQLite creates additional files while it writes.
    for suffix in ["", "-journal", "-wal", "-shm"] { unsafe _ = unlink(path(in: folder) + suffix) }
    unsafe _ = rmdir(folder)
  }

  fileprivate static func path(in folder: String) -> String { folder + "/export" }
}

extension WebAPI {
  func export(_ request: WebRequest) throws -> WebResponse {
    let target = request.target
    guard let format = ExportFormat(rawValue: target["format"] ?? "jsonl") else {
      throw WebError(400, "unknown format; use \(ExportFormat.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    let className = target["class"], query = target["query"].flatMap { $0.isEmpty ? nil : $0 }
    if query != nil, className == nil { throw WebError(400, "a query needs a class") }
    // The query and the class are checked before a file is created.
    if let className {
      try browsed.onNewest { snapshot in
        let table = try snapshot.table(ofClass: className)
        if let query { _ = try Self.filter(query, table, snapshot) }
      }
    }
    if request.method == "HEAD" { return WebResponse(contentType: format.contentType, body: .bytes([])) }
    let folder = try exports.begin(isSecret: browsed.realm.configuration.encryptionKey != nil)
    defer { exports.end(folder) }
    let path = Exports.path(in: folder)
    var exporter = Exporter(browsed.realm, classes: className.map { [$0] }, format: format, to: .file(path))
    let name = browsed.path.split(separator: "/").last.map(String.init) ?? "realm"
    exporter.name = name
    if let query {
      exporter.filter = { table, snapshot in
        if table.kind == .embedded { return nil }
        return try Self.filter(query, table, snapshot)
      }
    }
    exporter.onProgress = { _, _ in
      if request.isAbandoned { throw TransferError.unsuitable("the download was cancelled") }
    }
    _ = try exporter.run()
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    var status = stat()
    guard descriptor >= 0, unsafe fstat(descriptor, &status) == 0 else {
      if descriptor >= 0 { close(descriptor) }
      throw WebError(500, "cannot read the temporary file \(path)")
    }
    let file = OpenedFile(descriptor: descriptor, size: UInt64(status.st_size))
    var response = WebResponse(contentType: format.contentType, body: .file(file))
    let stem = name.hasSuffix(".realm") ? String(name.dropLast(6)) : name
    let fileName = stem + (className.map { "-" + $0 } ?? "") + "." + format.rawValue
    response.headers = [("Content-Disposition", Self.disposition("attachment", fileName))]
    return response
  }

  private static func filter(
    _ text: String,
    _ table: Table,
    _ snapshot: Snapshot
  ) throws -> Exporter.Filter {
    let query = try ObjectQuery(text, of: table, in: snapshot)
    if query.isOrdered { throw WebError(400, "the query of a download takes no SORT, DISTINCT or LIMIT") }
    return { cursor in try query.matches(cursor) }
  }
}

extension ExportFormat {
  fileprivate var contentType: String {
    switch self {
    case .jsonl: "application/x-ndjson"
    case .json: "application/json"
    case .csv: "text/csv; charset=utf-8"
    case .tsv: "text/tab-separated-values; charset=utf-8"
    case .sqlite: "application/vnd.sqlite3"
    case .xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    }
  }
}
