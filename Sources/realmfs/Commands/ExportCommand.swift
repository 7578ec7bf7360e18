// `realmfs export`: writes objects to files of other formats.
import FileTree
import Glibc
import RealmPages
import RealmQuery
import RealmTransfer

/// The command `export`.
enum ExportCommand {
  /// The largest number of remarks that are printed one by one.
  private static let maxRemarks = 20

  /// Suffixes of formats that cannot be written. A name with such a suffix is not assumed to be a directory.
  private static let foreign = [
    ".xls", ".ods", ".xml", ".yaml", ".yml", ".sql", ".parquet", ".txt", ".html", ".pdf", ".zip", ".gz", ".realm",
  ]

  static func run(_ arguments: Arguments) throws -> ExitCode {
    let target = arguments.operands.count > 1 ? arguments.operands[1] : "-"
    let suffix = ExportFormat(suffixOf: target)
    if suffix == nil, !arguments.has(.format), let other = foreign.first(where: { target.lowercased().hasSuffix($0) }) {
      throw arguments.usage(
        "\(target): cannot write \(other); use .jsonl, .json, .csv, .tsv, .sqlite or .xlsx, or name the format "
          + "with --format"
      )
    }
    let format = arguments.value(.format).flatMap { ExportFormat(rawValue: $0) } ?? suffix ?? .jsonl
    let style = try arguments.jsonStyle()
    let csv = try dialect(arguments, format)
    if format != .sqlite, arguments.has(.verify) { throw arguments.usage("--verify is for SQLite databases") }
    if arguments.has(.json), !arguments.has(.verify) { throw arguments.usage("--json prints the report of --verify") }
    let source = try RealmSource.pinned(arguments)
    if target == "-" {
      if format == .sqlite || format == .xlsx {
        throw arguments.usage("--format \(format.rawValue) needs the name of an output file")
      }
      let summary = try export(
        source,
        arguments,
        Exporter(
          source.realm,
          classes: arguments.chosenClasses(),
          format: format,
          to: .stream(STDOUT_FILENO),
          style: style,
          csv: csv
        )
      )
      return code(summary)
    }
    let isFile = format == .sqlite || format == .xlsx || format == suffix
    let staging = try Staging(for: target, isFile ? .absent : .absentOrEmptyDirectory)
    var exporter = Exporter(
      source.realm,
      classes: arguments.chosenClasses(),
      format: format,
      to: isFile ? .file(staging.anchoredPath) : .path(staging.anchoredPath),
      style: style,
      csv: csv,
      verifies: arguments.has(.verify)
    )
    exporter.name = target
    let summary: ExportSummary
    do { summary = try export(source, arguments, exporter) } catch { throw staging.named(CommandFailure(error)) }
    for remark in summary.remarks.prefix(maxRemarks) { Log.notice("\(target): \(remark)") }
    if summary.remarks.count > maxRemarks {
      Log.notice("\(target): \(summary.remarks.count - maxRemarks) more remarks like these")
    }
    if let verification = summary.verification {
      try VerificationReport(verification).print(asJSON: arguments.has(.json))
      if !verification.isSame {
        let names = verification.classes.filter { !$0.isSame }.map(\.name).joined(separator: ", ")
        throw CommandFailure(
          .failure,
          "\(target): the database differs from the export in \(names), so it was removed; check the disk, and "
            + "export again"
        )
      }
    }
    if isFile { try staging.publishFile() } else { try staging.publishDirectory() }
    if !arguments.has(.quiet) {
      let objects = counted(summary.objects, "object"), classes = counted(summary.classes, "class", "classes")
      let damaged = summary.damaged == 0 ? "" : ", \(summary.damaged) damaged left out"
      let leftOut = summary.leftOut == 0 ? "" : ", \(counted(summary.leftOut, "value")) left out"
      Log.notice("\(target): \(objects) of \(classes)\(damaged)\(leftOut)")
    }
    return code(summary)
  }

  private static func code(_ summary: ExportSummary) -> ExitCode {
    summary.damaged > 0 ? .damaged : summary.leftOut > 0 ? .failure : .done
  }

  private static func dialect(_ arguments: Arguments, _ format: ExportFormat) throws -> CSVDialect {
    let options = [OptionName.delimiter] + (format == .tsv ? [] : [.decimal])
    if format != .csv, let option = options.first(where: { arguments.has($0) }) {
      throw arguments.usage("--\(option.rawValue) is for --format csv")
    }
    return CSVDialect(
      delimiter: try arguments.delimiter() ?? UInt8(ascii: ","),
      decimalMark: arguments.decimalMark ?? .point
    )
  }

  private static func export(
    _ source: RealmSource,
    _ arguments: Arguments,
    _ exporter: Exporter
  ) throws -> ExportSummary {
    var exporter = exporter
    if let text = arguments.value(.filter) {
      if arguments.chosenClasses()?.count != 1 { throw arguments.usage("--where needs --class with one class") }
      exporter.filter = { table, snapshot in try filter(text, table, snapshot) }
    }
    var progress = Progress("export")
    exporter.onProgress = { (done, total) in progress.show(done, of: total) }
    var complaints = Complaints()
    exporter.onComplaint = { complaints.add($0) }
    defer {
      progress.clear()
      complaints.report(source.path)
    }
    return try located(source.path) { try exporter.run() }
  }
}

/// Returns the filter that --where defines for the objects of a class.
private func filter(
  _ text: String,
  _ table: Table,
  _ snapshot: Snapshot
) throws -> Exporter.Filter? {
  // Embedded objects are exported with their parents.
  if table.kind == .embedded { return nil }
  let query: ObjectQuery
  do { query = try ObjectQuery(text, of: table, in: snapshot) } catch {
    throw TransferError.unsuitable(CommandFailure(error, in: text).message)
  }
  if query.isOrdered { throw TransferError.unsuitable("--where takes no SORT, DISTINCT or LIMIT; use 'realmfs query'") }
  return { cursor in
    do { return try query.matches(cursor) } catch {
      switch error {
      case QueryFailure.damaged(let cause): throw TransferError.damaged(cause.description)
      case QueryFailure.refused(let cause): throw TransferError.unsuitable(CommandFailure(cause, in: text).message)
      default: throw TransferError.unsuitable("the query of --where took too long")
      }
    }
  }
}

extension Arguments {
  /// Returns the classes given by --class; nil for all.
  func chosenClasses() -> [String]? {
    guard has(.classes) else { return nil }
    return allValues(.classes).flatMap { $0.split(unescaped: ",") }
  }
}
