// The fuzzer's targets for external input other than realm files: texts of objects, schemas, queries and tables, keys,
// the changesets in a file's history, the messages of a sync server, and the requests of a browser. A parser must
// accept any bytes or report an error; it must not crash, hang or read out of bounds. FUZZ_TARGET selects the target.

import CLinux
import Glibc
import RealmJSON
import RealmPages
import RealmQuery

@testable import RealmSync
@testable import RealmTransfer

/// The kind of text that an input is parsed as.
private enum Target: String {
  case json, object, schema, query, csv, key, changeset, message, synced, request

  /// The target that the environment selects.
  static let chosen = getenv("FUZZ_TARGET").flatMap { Target(rawValue: String(cString: $0)) } ?? .json
}

/// A realm to write objects to and run queries on. Its transactions are never committed.
private struct Sample: @unchecked Sendable {
  // Unchecked: the fuzzer has one thread.
  let writer: RealmWriter
  let snapshot: Snapshot
  let table: Table
  let server: SampleServer

  /// The sample, which has properties of every kind.
  static let shared: Sample = {
    do {
      let writer = try RealmWriter(memory: MemoryStorage(name: "sample"))
      let transaction = try writer.begin()
      let dog = try transaction.addTable("class_Dog"), person = try transaction.addTable("class_Person")
      let address = try transaction.addTable("class_Address", kind: .embedded)
      _ = try transaction.addColumn(address, ColumnSpec("street", .string, isNullable: true))
      _ = try transaction.addColumn(dog, ColumnSpec("name", .string))
      let key = try transaction.addColumn(person, ColumnSpec("_id", .int))
      try transaction.setPrimaryKey(person, key)
      let types: [ValueType] = [.int, .bool, .string, .data, .date, .float, .double, .decimal128, .objectID, .uuid]
      for (i, type) in types.enumerated() {
        _ = try transaction.addColumn(person, ColumnSpec("p\(i)", type, isNullable: i % 2 == 0))
        _ = try transaction.addColumn(person, ColumnSpec("l\(i)", type, collection: .list))
      }
      for (name, collection) in [("any", nil), ("anys", .list), ("set", .set), ("map", .dictionary)]
        as [(String, CollectionKind?)]
      {
        _ = try transaction.addColumn(person, ColumnSpec(name, .mixed, collection: collection))
      }
      _ = try transaction.addColumn(person, ColumnSpec("dog", .link, target: dog))
      _ = try transaction.addColumn(person, ColumnSpec("dogs", .link, collection: .list, target: dog))
      _ = try transaction.addColumn(person, ColumnSpec("home", .link, target: address))
      for id in 0..<20 { _ = try transaction.create(person, primaryKey: .int(Int64(id))) }
      _ = try transaction.commit()
      let snapshot = try writer.realm.latest()
      guard let table = try snapshot.table(named: "class_Person") else { abort() }
      return Sample(writer: writer, snapshot: snapshot, table: table, server: SampleServer(writer))
    } catch { abort() }
  }()
}

/// The request that parsed answers belong to.
private let upgrade: Upgrade = {
  do { return Upgrade(to: try SyncURL("realm://localhost/a"), token: "") } catch { abort() }
}()

/// libFuzzer calls this with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTexts(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let bytes = [UInt8](UnsafeBufferPointer(start: data, count: size))
  _ = Sample.shared
  budget.run(size) {
    do { try take(bytes) } catch {
      // Formatting the error must not fail either.
      if "\(error)".isEmpty { abort() }
    }
  }
  return 0
}

/// A compressed message can expand to 1040 times its size. The cost of a request also depends on the sample, whose
/// bytes are searched.
private let budget = Budget(
  heap: .init(fixed: Target.chosen == .request ? 4 << 20 : 256 << 10, perByte: Target.chosen == .message ? 2048 : 128),
  requests: .init(
    fixed: Target.chosen == .request ? 64 << 20 : 8 << 20,
    perByte: Target.chosen == .message ? 8192 : 1024
  ),
  time: .init(fixed: 1_000_000, perByte: 1000)
)

private func take(_ bytes: [UInt8]) throws {
  switch Target.chosen {
  case .json:
    var outline = JSONOutline()
    outline.read(bytes.span.bytes)
    _ = try JSONText(bytes)
  case .object:
    let transaction = try Sample.shared.writer.begin()
    do {
      _ = try ObjectPatcher(missingLinks: .leaveOut).apply(
        JSONText(bytes),
        to: .upsert,
        of: Sample.shared.table.key,
        in: transaction
      )
    } catch {
      transaction.rollback()
      throw error
    }
    transaction.rollback()
  case .schema: _ = try SchemaDescription(JSONText(bytes))
  case .query:
    let query = try ObjectQuery(
      String(decoding: bytes, as: UTF8.self),
      of: Sample.shared.table,
      in: Sample.shared.snapshot
    )
    _ = try query.keys(until: .now + .seconds(5))
  case .csv:
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let dialect = try CSVDialect(firstLine: Array(lines[0]), ImportOptions())
    for line in lines { _ = try CSVRecord(Array(line), dialect.delimiter) }
  case .key:
    var secret = SecretBuffer()
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { abort() }
    _ = write(ends[1], bytes, min(bytes.count, 2 * SecretBuffer.capacity))
    close(ends[1])
    defer { close(ends[0]) }
    _ = secret.read(from: ends[0])
    _ = try KeyForm.key(in: secret)
  case .changeset: _ = try ChangesetDecoder(bytes)
  case .message: try takeFrames(bytes)
  case .request: Sample.shared.server.take(bytes)
  case .synced:
    let transaction = try Sample.shared.writer.beginReplaying()
    do {
      var applier = InstructionApplier()
      try applier.apply(bytes, to: transaction)
      _ = try transaction.outcome()
    } catch {
      transaction.rollback()
      throw error
    }
    transaction.rollback()
  }
}

/// Parses data from a server: the answer to the request, or frames that contain messages.
private func takeFrames(_ bytes: [UInt8]) throws {
  if bytes.starts(with: "HTTP".utf8) {
    var buffer = bytes
    _ = try upgrade.answer(&buffer, from: "peer")
    return
  }
  // Half of the inputs are parsed as a bare message, because a fuzzer seldom builds a frame around one.
  if bytes.first ?? 0 >= 0x20, bytes.first ?? 0 < 0x80 { return try takeMessage(bytes) }
  var start = 0
  while let head = try Frame.Head(bytes, at: start) {
    let first = start + head.size
    guard bytes.count - first >= head.payload else { return }
    try takeMessage(Array(bytes[first..<first + head.payload]))
    start = first + head.payload
  }
}

private func takeMessage(_ bytes: [UInt8]) throws {
  let message = try ServerMessage(bytes)
  if case .download(let download) = message { _ = try download.entries() }
  if case .error(let error) = message {
    _ = error.consequence(duringUpload: true)
    if error.description.isEmpty { abort() }
  }
}
