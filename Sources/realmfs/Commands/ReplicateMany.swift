// `realmfs replicate --source-of`: replicates many realms to one replica, and compares them with it.
import Glibc
import RealmJSON
import RealmPages
import RealmReplica
import RealmTransfer

/// Many realms, their files and their names.
struct ReplicateMany {
  private let arguments: Arguments
  private let operands: ReplicaOperands
  private let address: PostgresAddress
  private let files: RealmFileSet

  init(_ arguments: Arguments, _ operands: ReplicaOperands, _ address: PostgresAddress) throws {
    (self.arguments, self.operands, self.address) = (arguments, operands, address)
    let template = arguments.value(.sourceOf) ?? ""
    guard let files = RealmFileSet(operands.files, template: template) else {
      throw arguments.usage("--source-of \(template): expected a path with {id} once, such as 'users/{id}.realm'")
    }
    self.files = files
    if arguments.has(.keyDescriptor) || arguments.has(.keyVariable) || arguments.value(.keyFile) == "-" {
      throw arguments.usage("many realms read their keys from --key-file or --key-command")
    }
  }

  // MARK: replicate

  func run() throws -> ExitCode {
    var connections = 4
    if let text = arguments.value(.connections) {
      guard let count = Int(text), (1...256).contains(count) else {
        throw arguments.usage("--connections \(text): expected a number from 1 to 256")
      }
      connections = count
    }
    let place = try operands.place(""), arguments = arguments
    let pool = ReplicaPool(files, address, schema: place.schema, partition: place.partition) {
      path in
      try Self.open(path, arguments)
    }
    pool.onMessage = { Log.error($0) }
    (pool.acceptsReplacement, pool.wantsComparison) = (arguments.has(.acceptReplacement), arguments.has(.repair))
    pool.shouldStop = { ReplicateCommand.isStopped() }
    let showsLag = arguments.has(.lag)
    try located(operands.database) {
      try pool.run(
        connections: connections,
        once: arguments.has(.once),
        isStopping: { ReplicateCommand.isStopping },
        everySecond: { if showsLag { Self.report(pool.state) } }
      )
    }
    let state = pool.state
    if !arguments.has(.quiet), !showsLag {
      Log.notice(
        "\(counted(state.realms, "realm")): \(counted(state.written, "row")) written, \(state.removed) removed; "
          + "\(state.failed) failed"
      )
    }
    if arguments.has(.once), state.realms == 0 {
      throw CommandFailure(.unreadable, "\(operands.files.joined(separator: " ")): no such files")
    }
    if !arguments.has(.once) { return .done }
    return state.failed > 0 ? .failure : state.damaged > 0 ? .damaged : .done
  }

  /// Opens one realm as a reader: joins the programs that share it, or reads only the file if there are none.
  private static func open(_ path: String, _ arguments: Arguments) throws -> Realm {
    let key: EncryptionKey?
    do {
      var source = try KeySource(arguments)
      if case .command(let command)? = source {
        source = .command("REALMFS_FILE=\(quoted(path)); export REALMFS_FILE; \(command)")
      }
      // An unencrypted file needs no key.
      key = isPlain(path) ? nil : try source?.read(verbose: false)
    } catch { throw ReplicaError.unsuitable(CommandFailure(error).message) }
    var configuration = Configuration(path: path, encryptionKey: key, mode: .immutable)
    configuration.trustsOwner = arguments.trustsOwner
    configuration.opensUnreachedAsEmpty = arguments.has(.asEmpty)
    if RealmSource.hasLockFile(path) {
      var shared = configuration
      shared.mode = .shared
      // An unusable lock file does not prevent reading.
      if let realm = try? Realm(shared) { return realm }
    }
    return try Realm(configuration)
  }

  private static func isPlain(_ path: String) -> Bool {
    // The reason why a file cannot be opened is reported when it is opened with its key.
    (try? Realm(Configuration(path: path, mode: .immutable))) != nil
  }

  private static func quoted(_ path: String) -> String {
    // Map scalars, not characters: an apostrophe and a combining mark form one character (see `doubling`).
    "'" + path.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
  }

  private static func report(_ state: ReplicaPool.Progress) {
    let members: [(String, JSONValue)] = [
      ("realms", .number(state.realms)), ("waiting", .number(state.waiting)), ("failed", .number(state.failed)),
      ("transactions", .number(state.passes)), ("written", .number(state.written)),
      ("removed", .number(state.removed)),
    ]
    // An error in writing a report cannot be reported.
    _ = StandardOutput.write(Array(JSONValue.object(members).line.utf8), to: STDERR_FILENO)
  }

  // MARK: verify-replica

  func verify() throws -> ExitCode {
    let output = StandardOutput(), verifier = ReplicaVerifier(address)
    let (found, unnamed) = files.find()
    var different = 0, failed = unnamed.count
    for path in unnamed { Log.error("\(path): the pattern of --source-of does not fit") }
    for file in found {
      do {
        let realm = try located(file.path) { try Self.open(file.path, arguments) }
        let result = try VerifyReplicaCommand.verify(realm, operands.place(file.realm), verifier, file.path)
        let names = result.classes.filter { !$0.isSame }.map(\.name)
        if !names.isEmpty { different += 1 }
        line(file, names, result, output)
      } catch {
        failed += 1
        Log.error(CommandFailure(error).message)
      }
      if output.isFull { try output.flush() }
    }
    if !arguments.has(.json) {
      output.line("\(counted(found.count, "realm")), \(different) different, \(failed) failed")
    }
    try output.flush()
    if different > 0 {
      Log.notice("'realmfs replicate --once --repair' with the same operands rewrites what differs")
    }
    if found.isEmpty { throw CommandFailure(.unreadable, "\(operands.files.joined(separator: " ")): no such files") }
    return different + failed > 0 ? .failure : .done
  }

  private func line(_ file: ReplicatedFile, _ names: [String], _ result: ExportVerification, _ output: StandardOutput) {
    if arguments.has(.json) {
      let members: [(String, JSONValue)] = [
        ("realm", .string(file.realm)), ("file", .string(file.path)), ("same", .bool(names.isEmpty)),
        ("objects", .number(result.classes.reduce(0) { $0 + $1.exported.objects })),
        ("different", .array(names.map { .string($0) })),
        ("rows", .object(result.classes.filter { !$0.isSame }.map { ($0.name, VerificationReport.json(of: $0)) })),
      ]
      output.print(JSONValue.object(members).line)
    } else if !names.isEmpty {
      output.line("\(file.realm)  different: \(names.joined(separator: ", "))")
      for facts in result.classes { for line in VerificationReport.rows(of: facts) { output.line(line) } }
    }
  }
}
