// `realmfs seal`: writes hashes of a file to a seal beside it, which `realmfs check --seal` compares.
import RealmJSON
import RealmPages

/// The command `seal`.
enum SealCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let source = try RealmSource(arguments), path = source.path
    // A damaged file must not be sealed. If a program commits in the meantime, the file has changed and is read again.
    let (summary, seal) = try source.onNewest(attempts: 5) { snapshot in
      let summary = Verifier(snapshot).run(limit: 1) { _ in }
      return (summary, try FileSeal(hashing: path))
    }
    guard summary.isSound else {
      throw CommandFailure(.damaged, "\(path): damaged, so it was not sealed; 'realmfs check' lists the problems")
    }
    try seal.write(besideFileAt: path)
    let output = StandardOutput()
    if arguments.has(.json) {
      let members: [(String, JSONValue)] = [
        ("file", .string(path)), ("seal", .string(FileSeal.path(of: path))), ("size", .number(seal.size)),
      ]
      output.print(JSONValue.object(members).text)
    } else {
      output.line("\(FileSeal.path(of: path)): \(seal.size) bytes sealed")
    }
    try output.flush()
    return .done
  }

  /// `realmfs check --seal`: compares a file with its seal.
  static func check(_ arguments: Arguments) throws -> ExitCode {
    let path = arguments.operands[0], name = FileSeal.path(of: path)
    let size: Int, differences: [Range<Int>]
    let found = try FileSeal(hashing: path)
    (size, differences) = (found.size, try FileSeal(of: path).differences(to: found))
    let output = StandardOutput()
    if arguments.has(.json) {
      let members: [(String, JSONValue)] = [
        ("file", .string(path)), ("intact", .bool(differences.isEmpty)), ("size", .number(size)),
        (
          "differences",
          .array(differences.map { .object([("start", .number($0.lowerBound)), ("end", .number($0.upperBound))]) })
        ),
      ]
      output.print(JSONValue.object(members).text)
    } else {
      for range in differences {
        output.line("\(path): bytes \(range.lowerBound) to \(range.upperBound - 1) differ from \(name)")
      }
      let verdict = differences.isEmpty ? "matches its seal" : "damaged, or changed since it was sealed"
      output.line("\(path): \(verdict): \(size) bytes")
    }
    try output.flush()
    return differences.isEmpty ? .done : .damaged
  }
}
