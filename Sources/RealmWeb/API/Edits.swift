// Changes: each is one transaction that follows the rules for saving a file in a mount. A preview makes the change only
// in memory.

import CLinux
import RealmJSON
import RealmPages
import RealmTransfer
import Synchronization

/// Changes, creates and deletes objects.
final class Edits: Sendable {
  private let browsed: BrowsedRealm
  /// The version of the last change made here, which can be undone; nil if there is none. The lock is held during a
  /// change.
  private let last = Mutex<UInt64?>(nil)

  init(_ browsed: BrowsedRealm) { self.browsed = browsed }

  /// How long a change waits for writers in other programs, and Ctrl-C for the change.
  private static let timeout = Duration.seconds(3)
  private let isEnding = Atomic(false)

  /// Waits for the current change to end, and prevents further ones until the process ends.
  func finish() {
    isEnding.store(true, ordering: .sequentiallyConsistent)
    last.withLock { _ in }
  }

  private func writer() throws -> RealmWriter {
    guard let writer = browsed.writer else {
      throw WebError(403, "read-only: start 'realmfs browse --write' to change the realm")
    }
    return writer
  }

  /// Commits a change and responds with its version.
  private func commit(
    _ change: (borrowing WriteTransaction) throws -> [(String, JSONValue)]
  ) throws -> WebResponse {
    let writer = try writer()
    return try last.withLock { last in
      if isEnding.load(ordering: .sequentiallyConsistent) { throw WebError(503, "the server ends") }
      let transaction = try writer.beginOnThisThread(timeout: Self.timeout)
      let facts = try change(transaction)
      var version = transaction.former.version
      if transaction.hasChanges {
        version = try transaction.commit()
        last = version
      } else {
        transaction.rollback()
      }
      return .json(.object([("version", .number(Int(clamping: version)))] + facts))
    }
  }

  /// Makes a change in memory and passes the versions before and after it to `body`.
  private func rehearse<R>(
    _ change: (borrowing WriteTransaction) throws -> ObjKey,
    _ body: (_ before: Snapshot, _ after: Snapshot, ObjKey) throws -> R
  ) throws -> R {
    _ = try writer()
    return try browsed.onNewest { snapshot in
      let transaction = try RealmWriter.rehearse(on: snapshot)
      let key = try change(transaction)
      let after = try transaction.changed()
      let result = try body(snapshot, after, key)
      transaction.rollback()
      return result
    }
  }

  // MARK: changing and creating

  func change(_ className: String, _ key: String, _ request: WebRequest) throws -> WebResponse {
    let object = try WebAPI.objectKey(key), text = try Self.text(request)
    if request.isPreview {
      return try rehearse { transaction in
        try Self.apply(text, .object(object), className, transaction).object
      } _: { before, after, key in
        try Self.differences(className, key, before, after)
      }
    }
    return try commit { transaction in
      let outcome = try Self.apply(text, .object(object), className, transaction)
      if let expected = request.target["expect"] {
        let after = try transaction.changed()
        let changes = try Self.changes(className, object, transaction.former, after)
        try Self.check(changes, is: expected, "values")
      }
      return [("changed", .bool(outcome.hasChanged))]
    }
  }

  func create(_ className: String, _ request: WebRequest) throws -> WebResponse {
    let text = try Self.text(request)
    if request.isPreview {
      return try rehearse { transaction in
        try Self.apply(text, .new(), className, transaction).object
      } _: { before, after, key in
        try Self.differences(className, key, before, after)
      }
    }
    return try commit { transaction in
      [("key", .string("\(try Self.apply(text, .new(), className, transaction).object)"))]
    }
  }

  private static func text(_ request: WebRequest) throws -> JSONText {
    try JSONText(request.body)
  }

  private static func apply(
    _ text: JSONText,
    _ target: PatchTarget,
    _ className: String,
    _ transaction: borrowing WriteTransaction
  ) throws -> PatchOutcome {
    let table = try transaction.former.table(ofClass: className)
    return try ObjectPatcher().apply(text, to: target, of: table.key, in: transaction)
  }

  /// Throws if the change would now differ from its preview. `expected` is the `expect` value of the preview.
  private static func check(_ changes: OutputBuffer, is expected: String, _ what: String) throws {
    if fingerprint(changes) == expected { return }
    throw WebError(409, "another program has changed these \(what) since the preview; look at the changes again")
  }

  /// Returns a number that differs for different changes.
  private static func fingerprint(_ changes: OutputBuffer) -> String {
    String(changes.bytes.reduce(clinux_fnv_start()) { clinux_fnv_step($0, UInt64($1)) }, radix: 16)
  }

  /// Returns the properties that differ between two versions of an object.
  private static func differences(
    _ className: String,
    _ key: ObjKey,
    _ before: Snapshot,
    _ after: Snapshot
  ) throws -> WebResponse {
    let out = OutputBuffer(), changes = try changes(className, key, before, after)
    out.append("{\"version\":")
    out.append(decimal: before.version)
    out.append(",\"expect\":")
    out.append(quoted: fingerprint(changes))
    out.append(",\"changes\":")
    out.append(changes.bytes)
    out.append("}\n")
    return .json(out)
  }

  /// Returns the properties that differ between two versions of an object as a JSON array.
  private static func changes(
    _ className: String,
    _ key: ObjKey,
    _ before: Snapshot,
    _ after: Snapshot
  ) throws -> OutputBuffer {
    let out = OutputBuffer()
    out.append("[")
    let old = (cursor: ObjectCursor(try before.table(ofClass: className)), rows: RowRenderer(before))
    let new = (cursor: ObjectCursor(try after.table(ofClass: className)), rows: RowRenderer(after))
    let isOld = try old.cursor.seek(key)
    guard try new.cursor.seek(key) else {
      out.append("]")
      return out
    }
    var isFirst = true
    let from = OutputBuffer(), to = OutputBuffer()
    for (index, column) in new.cursor.table.columns.enumerated() {
      from.reset()
      to.reset()
      if isOld { try old.rows.append(whole: index, of: old.cursor, to: from) }
      try new.rows.append(whole: index, of: new.cursor, to: to)
      if from.equals(to) { continue }
      if !isFirst { out.append(",") }
      isFirst = false
      out.append("{\"property\":")
      out.append(quoted: column.name)
      out.append(",\"from\":")
      if isOld { _ = try old.rows.append(property: index, of: old.cursor, to: out) } else { out.append("null") }
      out.append(",\"to\":")
      _ = try new.rows.append(property: index, of: new.cursor, to: out)
      out.append("}")
    }
    out.append("]")
    return out
  }

  // MARK: deleting

  func delete(_ className: String, _ key: String, _ request: WebRequest) throws -> WebResponse {
    let object = try WebAPI.objectKey(key)
    if request.isPreview {
      // The deletion itself can be rejected.
      _ = try rehearse { transaction in
        try Self.delete(className, object, transaction)
        return object
      } _: { _, _, _ in
      }
      return try browsed.onNewest { snapshot in
        let links = try Self.links(className, object, snapshot), out = OutputBuffer()
        out.append("{\"version\":")
        out.append(decimal: snapshot.version)
        out.append(",\"expect\":")
        out.append(quoted: Self.fingerprint(links))
        out.append(",")
        out.append(links.bytes)
        out.append("}\n")
        return .json(out)
      }
    }
    return try commit { transaction in
      if let expected = request.target["expect"] {
        try Self.check(Self.links(className, object, transaction.former), is: expected, "links")
      }
      try Self.delete(className, object, transaction)
      return []
    }
  }

  /// Returns the members `links` and `count`: the links to an object, which are removed when it is deleted.
  private static func links(_ className: String, _ key: ObjKey, _ snapshot: Snapshot) throws -> OutputBuffer {
    let cursor = ObjectCursor(try snapshot.table(ofClass: className)), out = OutputBuffer()
    _ = try cursor.seek(key)
    try WebAPI.appendLinks(to: cursor, snapshot, limit: WebAPI.maxLinks, out)
    return out
  }

  private static func delete(
    _ className: String,
    _ key: ObjKey,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let table = try transaction.former.table(ofClass: className)
    guard try table.contains(key) else { throw EngineError(.notFound, "no object \(key) in class \(className)") }
    if table.kind == .embedded {
      throw EngineError(.forbidden, "an embedded object is deleted by changing the object that contains it")
    }
    try transaction.delete(table.key, key)
  }

  // MARK: undoing

  func undo(_ request: WebRequest) throws -> WebResponse {
    let writer = try writer()
    guard let version = JSONValue(report: request.body)?["version"]?.number else {
      throw WebError(400, "expected {\"version\": N}, the version of the change to undo")
    }
    return try last.withLock { last in
      if isEnding.load(ordering: .sequentiallyConsistent) { throw WebError(503, "the server ends") }
      guard let mine = last, Int(clamping: mine) == version else {
        throw WebError(409, "version \(version) is not the last change made here")
      }
      var isNewest = true
      let undone: RealmEdit.Undone?
      var edit = RealmEdit(writer)
      edit.timeout = Self.timeout
      undone = try edit.undo { (_, newest, _) in
        isNewest = newest.version == mine
        return isNewest
      }
      guard isNewest else { throw WebError(409, "another program has changed the realm since version \(version)") }
      guard let undone else { throw WebError(409, "the version before \(version) is no longer in the file") }
      last = nil
      return .json(.object([("version", .number(Int(clamping: undone.newest + 1)))]))
    }
  }
}

extension WebRequest {
  /// True if a change is only previewed.
  fileprivate var isPreview: Bool { target["preview"] == "1" }
}
