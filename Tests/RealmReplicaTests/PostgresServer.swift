// A PostgreSQL server for the time of the tests, in a temporary folder, reached by a Unix socket alone.

import Foundation
import RealmReplica
import Synchronization
import Testing

/// The server. It is started with the first test that needs it, and stopped when the process ends.
final class PostgresServer: Sendable {
  /// The server of all tests of this process.
  static let shared = Result { try PostgresServer() }
  private static let programs = ["/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql"]
  private static let count = Atomic(0)
  private static let stop = Mutex<String?>(nil)

  let folder: String
  private let program: String

  struct Failure: Error, CustomStringConvertible { let description: String }

  private init() throws {
    guard let program = Self.findProgram() else {
      throw Failure(description: "PostgreSQL's server is not installed: Scripts/setup.sh")
    }
    self.program = program
    // A socket's path is short.
    folder = "/tmp/realmfs-pg-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if getuid() == 0 { try Self.run("chown postgres '\(folder)'") }
    try run("initdb -D '\(folder)/data' -A trust -U postgres -E UTF8 --locale=C.UTF-8 --no-sync")
    let settings = "-k '\(folder)' -c listen_addresses= -c fsync=off -c max_connections=40 -c autovacuum=off"
    try run("pg_ctl -D '\(folder)/data' -o \"\(settings)\" -l '\(folder)/log' -w start")
    Self.stop.withLock {
      $0 = Self.asPostgres("'\(program)/pg_ctl' -D '\(folder)/data' -m immediate stop") + "; rm -rf '\(folder)'"
    }
    atexit {
      // A server that cannot be stopped is left to the user.
      if let stop = PostgresServer.stop.withLock({ $0 }) { try? PostgresServer.run(stop) }
    }
  }

  private static func findProgram() -> String? {
    for place in programs {
      // A missing directory has no versions.
      let versions = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
      for version in versions.sorted().reversed() {
        let folder = "\(place)/\(version)/bin"
        if FileManager.default.isExecutableFile(atPath: folder + "/initdb") { return folder }
      }
    }
    return nil
  }

  /// The server refuses to run as root.
  private static func asPostgres(_ command: String) -> String {
    getuid() == 0 ? "runuser -u postgres -- \(command)" : command
  }

  private func run(_ command: String) throws {
    let words = command.split(separator: " ", maxSplits: 1)
    try Self.run("cd /; " + Self.asPostgres("'\(program)/\(words[0])' \(words[1])"))
  }

  private static func run(_ command: String) throws {
    // Foundation's Process waits for everything that inherits its descriptors, and so for the server itself.
    let status = system("{ \(command) ; } >/tmp/realmfs-pg-\(getpid()).log 2>&1 </dev/null")
    defer { try? FileManager.default.removeItem(atPath: "/tmp/realmfs-pg-\(getpid()).log") }
    if status != 0 {
      let log = (try? String(contentsOfFile: "/tmp/realmfs-pg-\(getpid()).log", encoding: .utf8)) ?? ""
      throw Failure(description: "\(command): \(log)")
    }
  }

  /// The address of the database of all tests.
  var address: PostgresAddress {
    get throws { try PostgresAddress("host=\(folder) user=postgres dbname=postgres") }
  }

  /// A schema that no other test has.
  static func newSchema() -> String { "test \(count.add(1, ordering: .relaxed).newValue) \"'" }

  /// The rows of a query, fields separated by `|`.
  @discardableResult
  func query(_ sql: String) throws -> [String] {
    let process = Process(), pipe = Pipe(), errors = Pipe()
    process.executableURL = URL(fileURLWithPath: program + "/psql")
    process.arguments = ["-h", folder, "-U", "postgres", "-d", "postgres", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql]
    process.standardOutput = pipe
    process.standardError = errors
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    let problem = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw Failure(description: String(decoding: problem, as: UTF8.self)) }
    return String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true).map(
      String.init
    )
  }
}
