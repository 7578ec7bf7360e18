// `realmfs import`: reads objects from files of other formats.
import Glibc
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `import`.
enum ImportCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let path = arguments.operands[0]
    let batchSize = try batchSize(arguments)
    let options = try options(arguments)
    let format = arguments.value(.format).flatMap { ImportFormat(rawValue: $0) }
    let classes = arguments.chosenClasses() ?? []
    if classes.count > 1 { throw arguments.usage("--class takes one class, that of the records") }
    if case .failure(let error) = System.status(path) {
      throw CommandFailure(.unreadable, "\(path): \(System.message(error.code)); create it with 'realmfs create'")
    }
    if StandardInput.isNamed(by: arguments.operands[1]) { try StandardInput.take(as: "the data") }
    let key = try KeySource(arguments).map { source in
      try source.read(verbose: arguments.has(.verbose))
    }
    let cleanup = Interruption.cleaning { ImportSource.removeTemporaryFiles() }
    Interruption.watch()
    defer { withExtendedLifetime(cleanup) {} }
    var progress = Progress("import")
    let rejects = try arguments.value(.skipBad).map { path in try RejectsFile(path) }
    let summary: ImportSummary
    do {
      let source = try ImportSource(
        arguments.operands[1],
        format: format,
        className: classes.first,
        options
      )
      let writer: RealmWriter
      var configuration = Configuration(path: path, encryptionKey: key)
      configuration.trustsOwner = arguments.trustsOwner
      configuration.opensUnreachedAsEmpty = arguments.has(.asEmpty)
      writer = try RealmWriter.ofCommand(configuration)
      var importer = Importer(writer, from: source, defaultClass: classes.first)
      importer.batchSize = batchSize
      importer.isDryRun = arguments.has(.dryRun)
      if let rejects { importer.onReject = { record in try rejects.add(record) } }
      importer.onProgress = { (done) in progress.show(done, of: 0) }
      summary = try importer.run()
    } catch {
      progress.clear()
      throw CommandFailure(error, path: path)
    }
    progress.clear()
    return try report(summary, path, arguments)
  }

  private static func batchSize(_ arguments: Arguments) throws -> Int? {
    guard let text = arguments.value(.batch) else { return nil }
    guard let size = Int(text), size > 0 else {
      throw arguments.usage("option --batch: '\(text)' is not a number above 0")
    }
    return size
  }

  /// Returns the options that describe the input files.
  private static func options(_ arguments: Arguments) throws -> ImportOptions {
    var options = ImportOptions()
    options.encoding = arguments.value(.encoding)
    options.decimalMark = arguments.decimalMark
    options.delimiter = try arguments.delimiter()
    return options
  }

  private static func report(
    _ summary: ImportSummary,
    _ path: String,
    _ arguments: Arguments
  ) throws -> ExitCode {
    let output = StandardOutput()
    if arguments.has(.json) {
      output.print(
        JSONValue.object(
          [
            ("created", .number(summary.created)), ("changed", .number(summary.changed)),
            ("unchanged", .number(summary.unchanged)), ("rejected", .number(summary.rejected)),
            ("classes", .object(summary.classes.map { ($0.name, $0.json) })),
          ] + (summary.mapping.isEmpty ? [] : [("mapping", .array(summary.mapping.map { .string($0) }))])
            + summary.defaulted.json
        ).text
      )
    } else if !arguments.has(.quiet) || summary.rejected > 0 {
      for note in summary.notes { Log.notice(note) }
      summary.defaulted.report(path)
      let isDryRun = arguments.has(.dryRun)
      if isDryRun {
        for line in summary.mapping { output.line(line) }
        for count in summary.classes {
          output.print("\(count.name): \(count.created) created, \(count.changed) changed\n")
        }
      }
      let words = "\(summary.created) created, \(summary.changed) changed, \(summary.unchanged) unchanged"
      let lead = isDryRun ? Options.dryRunLead : ""
      Log.notice("\(path): \(lead)\(words), \(summary.rejected) refused")
    }
    try output.flush()
    return summary.rejected == 0 ? .done : .failure
  }
}

extension ImportSummary.ClassCount {
  fileprivate var json: JSONValue { .object([("created", .number(created)), ("changed", .number(changed))]) }
}

extension Arguments {
  /// The decimal mark of CSV given by the user.
  var decimalMark: DecimalMark? { value(.decimal).flatMap { DecimalMark(rawValue: $0) } }

  /// Returns the separator of CSV given by the user.
  func delimiter() throws -> UInt8? {
    guard let text = value(.delimiter) else { return nil }
    let words = ["tab": 0x09, "\\t": 0x09, "comma": UInt8(ascii: ","), "semicolon": UInt8(ascii: ";")]
    guard let byte = words[text] ?? (text.utf8.count == 1 ? text.utf8.first : nil), CSVDialect.isDelimiter(byte) else {
      throw usage("option --delimiter: '\(text)' is neither tab, comma or semicolon nor a character like ; or |")
    }
    return byte
  }
}

/// The rejected records, as JSON Lines with the file, the line, the reason and the record itself.
private final class RejectsFile {
  private let path: String
  private var descriptor: Int32 = -1
  private let buffer = OutputBuffer()

  /// Throws if the file exists. The file is created with the first record.
  init(_ path: String) throws {
    self.path = path
    if case .success = System.status(path) {
      throw CommandFailure(.failure, "\(path) already exists: name another file for the rejected records")
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func add(_ record: RejectedRecord) throws {
    Log.error(record.reason)
    if descriptor < 0 {
      descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      if descriptor < 0 { throw TransferError.file(path, errno) }
    }
    buffer.append("{\"file\":")
    buffer.append(quoted: record.path)
    buffer.append(",\"line\":")
    buffer.append(decimal: Int64(record.line))
    buffer.append(",\"reason\":")
    buffer.append(quoted: record.reason)
    buffer.append(",\"record\":")
    buffer.append(string: record.bytes)
    buffer.append("}\n")
    let code = StandardOutput.write(buffer.bytes, to: descriptor)
    buffer.reset()
    if code != 0 { throw TransferError.file(path, code) }
  }
}
