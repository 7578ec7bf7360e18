// Reports on several files: lines that begin with the path, or a JSON array. A file that cannot be read does not end
// the command.
import RealmJSON
import RealmPages

/// The report on one of several files.
struct FileReport {
  /// Each begins with the path of the file.
  let lines: [String]
  let json: JSONValue
  var code = ExitCode.done
}

extension Arguments {
  /// Prints a report for each operand. Returns the exit code of the first file with another code than 0.
  func reportEach(
    _ report: (Configuration) throws -> FileReport
  ) throws -> ExitCode {
    // The key is read once, because it can come from a descriptor.
    var configuration = try RealmSource.configuration(path: operands[0], self, .immutable)
    var reports: [JSONValue] = [], code = ExitCode.done
    let output = StandardOutput()
    for path in operands {
      configuration.path = path
      do {
        let found = try report(configuration)
        if has(.json) { reports.append(found.json) } else { found.lines.forEach { output.line($0) } }
        if code == .done { code = found.code }
      } catch {
        let failure = CommandFailure(error, path: path).explaining([path]).naming(holdersOf: [path])
        if code == .done { code = failure.code }
        if has(.json) {
          reports.append(
            .object([
              ("file", .string(path)), ("error", .string(failure.message)),
              ("exitCode", .number(Int(failure.code.rawValue))),
            ])
          )
        } else {
          try output.flush()
          Log.error(failure.message, more: failure.more)
        }
      }
    }
    if has(.json) { output.print(JSONValue.array(reports).text) }
    try output.flush()
    return code
  }
}
