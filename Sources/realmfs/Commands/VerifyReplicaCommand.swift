// `realmfs verify-replica`: checks that a PostgreSQL or SQLite database contains the content of a realm.
import Glibc
import RealmPages
import RealmReplica
import RealmTransfer

/// The command `verify-replica`.
enum VerifyReplicaCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let operands = ReplicaOperands(arguments)
    if isFile(operands.database) { return try verifySQLite(arguments, operands) }
    if !operands.database.contains("="), !operands.database.contains("://") {
      throw CommandFailure(.unreadable, "\(operands.database): no such file, and not a PostgreSQL address")
    }
    let address = try operands.address()
    if operands.isMany { return try ReplicateMany(arguments, operands, address).verify() }
    let source = try RealmSource.pinned(arguments)
    let result = try verify(source.realm, operands.place(), ReplicaVerifier(address), source.path)
    try VerificationReport(result).print(asJSON: arguments.has(.json))
    return try code(result, remedy: "'realmfs replicate --once --repair' with the same operands rewrites it")
  }

  static func verify(
    _ realm: Realm,
    _ place: ReplicaPlace,
    _ verifier: ReplicaVerifier,
    _ path: String
  ) throws -> ExportVerification {
    verifier.onComplaint = { Log.error("\(path): \($0)") }
    return try located(path) { try verifier.run(realm, place) }
  }

  private static func isFile(_ name: String) -> Bool { unsafe !name.contains("://") && access(name, F_OK) == 0 }

  private static func verifySQLite(_ arguments: Arguments, _ operands: ReplicaOperands) throws
    -> ExitCode
  {
    if operands.files.count > 1 { throw arguments.usage("a SQLite database has one realm") }
    let source = try RealmSource.pinned(arguments)
    let exporter = Exporter(
      source.realm,
      classes: nil,
      format: .sqlite,
      to: .file(operands.database),
      verifies: true,
      comparesOnly: true
    )
    let summary = try located(operands.database) { try exporter.run() }
    guard let result = summary.verification else { return .failure }
    try VerificationReport(result).print(asJSON: arguments.has(.json))
    return try code(result, remedy: "'realmfs export' rewrites the database")
  }

  private static func code(_ result: ExportVerification, remedy: String) throws -> ExitCode {
    if result.isSame { return .done }
    let names = result.classes.filter { !$0.isSame }.map(\.name).joined(separator: ", ")
    throw CommandFailure(.failure, "the database differs from the realm in \(names); \(remedy)")
  }
}
