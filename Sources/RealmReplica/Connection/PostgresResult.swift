// Results and parameters of statements, in binary format.

import CPostgres
import RealmPages

/// A result of a statement.
@safe final class PostgresResult {
  // Safe: it owns the handle and is the only one to free it.
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { unsafe self.handle = handle }

  deinit { unsafe PQclear(handle) }

  var isSync: Bool { unsafe PQresultStatus(handle) == PGRES_PIPELINE_SYNC }
  var isSingleRow: Bool { unsafe PQresultStatus(handle) == PGRES_SINGLE_TUPLE }
  var isError: Bool {
    switch unsafe PQresultStatus(handle) {
    case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_PIPELINE_ABORTED: true
    default: false
    }
  }

  /// The error that the server reported.
  var error: ReplicaError {
    func field(_ code: String) -> String? {
      unsafe code.unicodeScalars.first.flatMap { unsafe PQresultErrorField(handle, Int32($0.value)) }
        .map { unsafe String(cString: $0) }
    }
    if unsafe PQresultStatus(handle) == PGRES_PIPELINE_ABORTED { return .overtaken }
    let message = unsafe field("M") ?? PQresultErrorMessage(handle).map { unsafe String(cString: $0) } ?? "no reason"
    return .server(state: field("C") ?? "?", (message + (field("D").map { "; \($0)" } ?? "")).withoutLineEnd)
  }

  /// The command tag of the statement, such as `COMMIT`.
  var command: String { unsafe PQcmdStatus(handle).map { unsafe String(cString: $0) } ?? "" }

  var rowCount: Int { unsafe Int(PQntuples(handle)) }

  /// Returns the bytes of a field; nil for null.
  func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
    if unsafe PQgetisnull(handle, Int32(row), Int32(column)) != 0 { return nil }
    let count = unsafe Int(PQgetlength(handle, Int32(row), Int32(column)))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: PQgetvalue(handle, Int32(row), Int32(column)), count: count))
  }

  func text(_ row: Int, _ column: Int) -> String? { bytes(row, column).map { String(decoding: $0, as: UTF8.self) } }

  /// Returns an integer of eight or four bytes, in binary format.
  func integer(_ row: Int, _ column: Int) -> Int64? {
    guard let bytes = bytes(row, column) else { return nil }
    if bytes.count == 4 { return Int64(Int32(truncatingIfNeeded: bytes.reduce(Int64(0)) { $0 << 8 | Int64($1) })) }
    return Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}

/// A parameter of a statement.
struct PostgresParameter {
  let type: UInt32
  /// The value in binary format; nil for null.
  let bytes: [UInt8]?

  init(type: UInt32, _ bytes: [UInt8]?) { (self.type, self.bytes) = (type, bytes) }

  static func text(_ text: String?) -> PostgresParameter {
    // PostgreSQL does not allow NUL in text.
    PostgresParameter(type: 25, text.map { Array($0.utf8.filter { $0 != 0 }) })
  }

  static func integer(_ value: Int64?) -> PostgresParameter {
    PostgresParameter(
      type: 20,
      value.map { value in (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) } }
    )
  }
}

extension [PostgresParameter] {
  /// Calls `body` with the arrays that libpq expects.
  func withArrays<R>(
    _ body: (
      UnsafePointer<UInt32>, UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>
    ) -> R
  ) -> R {
    var all: [UInt8] = []
    for parameter in self { all += parameter.bytes ?? [] }
    all.append(0)
    return unsafe all.withUnsafeBytes { bytes in
      var values: [UnsafePointer<CChar>?] = unsafe [], lengths: [Int32] = [], offset = 0
      for parameter in self {
        let count = parameter.bytes?.count
        unsafe values.append(
          count == nil ? nil : bytes.baseAddress.map { unsafe ($0 + offset).assumingMemoryBound(to: CChar.self) }
        )
        lengths.append(Int32(count ?? 0))
        offset += count ?? 0
      }
      unsafe values.append(nil)
      let formats = [Int32](repeating: 1, count: self.count + 1)
      return unsafe body(map(\.type) + [0], unsafe values, lengths + [0], formats)
    }
  }
}
