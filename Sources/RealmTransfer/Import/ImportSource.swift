// The input of an import: files of lines, CSV or JSON values, or a tree of files, found below a path. Records are read
// one by one, starting at any position.

import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// The formats of import.
public enum ImportFormat: String, CaseIterable, Sendable {
  case jsonl, json, csv, tsv, sqlite, xlsx
}

/// One object as read from its source.
struct Record {
  /// The position from which a record can be read again.
  struct Position: Hashable {
    var file = 0
    var offset = 0
    var line = 0
    /// In a file of JSON values, the context before the record.
    var context = InputFile.ValueContext.open
  }

  let position: Position
  /// The path of its file.
  let path: String
  /// Its first line; 0 if it is a separate file.
  let line: Int
  /// The word for `line`; see `InputFile.unit`.
  var unit = "line"
  let bytes: [UInt8]
  /// The class, from the name of the file or directory, or from the text; nil if neither contains it.
  var className: String?
  /// True if the text contains the class.
  var namesClass = false
  /// The name of its file in a tree; nil otherwise.
  let fileName: String?
  /// The header of its file, for CSV.
  let header: CSVHeader?
  /// Its JSON, if it was already parsed.
  var text: JSONText?

  /// The path and line, for messages.
  var place: String { line == 0 ? path : "\(path): \(unit) \(line)" }

  /// True if the record contains only separators, like the empty rows that spreadsheets write after the last one.
  var isBlankRow: Bool {
    guard let delimiter = header?.dialect.delimiter else { return false }
    return bytes.allSatisfy { $0 == delimiter || $0 == 0x0D }
  }

  /// Returns the JSON of a CSV record.
  func text(_ form: CSVForm) throws -> JSONText {
    let json: [UInt8]
    do { json = try form.json(fields()) } catch {
      throw InputError(error.text(path, line, unit: unit))
    }
    do { return try JSONText(json) } catch {
      throw InputError("\(place): \(error.problem)")
    }
  }

  /// Returns the fields of a CSV record.
  func fields() throws(InputError) -> CSVRecord {
    try CSVRecord(bytes, header?.dialect.delimiter ?? UInt8(ascii: ","))
  }

  /// Returns the reason that the JSON of a CSV record was rejected.
  func reason(_ error: InputError, _ form: CSVForm) -> String {
    let problem: InputError
    do { problem = form.problem(error, in: try fields()) } catch { problem = error }
    return problem.text(path, line, unit: unit)
  }

  /// Returns the reason that JSON was rejected.
  func reason(_ error: InputError) -> String {
    if unit == "line" { return "\(path): \(error)" }
    // The columns of converted text are not those of its source.
    return "\(place): \(error.path.isEmpty ? "" : error.path + ": ")\(error.problem)"
  }

  /// Parses the record as JSON.
  func json() throws -> JSONText {
    do { return try JSONText(bytes, firstLine: max(1, line)) } catch {
      let isText = unsafe UTF8Sequence.isValid(bytes.span.bytes)
      let hint = isText ? "" : "; if the file has another encoding, add it, such as --encoding latin1"
      throw InputError("\(path): \(error)\(hint)")
    }
  }
}

/// Reads records in the order of the source.
public final class ImportSource {
  private struct File {
    let path: String
    let className: String?
    /// The index of the table in `tables`; nil for a text.
    var table: Int?
  }

  /// How records are separated.
  private enum Form {
    case lines, csv, tree
    /// Objects, or arrays of objects, over any number of lines.
    case values

    init(_ format: ImportFormat, isTree: Bool) {
      switch format {
      case .jsonl: self = .lines
      case .csv, .tsv, .xlsx: self = .csv
      case .sqlite: self = .lines
      case .json: self = isTree ? .tree : .values
      }
    }
  }

  private let form: Form
  private var files: [File]
  /// The source of tables; nil if the source is text.
  private(set) var tables: (any TableSource)?
  /// The class that the user gave.
  private let className: String?
  /// True if the source is one file, or standard input, whose class the user did not give.
  private var isUnclassified = false
  /// The classes that a JSON object of arrays may name, and those found.
  private var arrays = InputFile.ClassArrays()
  private var position = Record.Position()
  private var open: InputFile?
  private var header: CSVHeader?
  private let options: ImportOptions
  /// Messages about properties detected in the files; complete once the last record has been read.
  private(set) var notes: [String] = []
  private var names: [String] = []

  /// Finds the files below `path`; `-` is standard input. If `format` is nil, it is derived from the names.
  ///
  /// `className` is the class of records whose class is not known otherwise.
  public init(
    _ path: String,
    format: ImportFormat?,
    className: String?,
    _ options: ImportOptions = ImportOptions()
  ) throws {
    var status = stat()
    if path != "-", unsafe stat(path, &status) != 0 { throw TransferError.file(path, errno) }
    guard path != "-", status.st_mode & S_IFMT == S_IFDIR else {
      let (stem, known) = Self.parts(of: path.split(separator: "/").last.map(String.init) ?? path)
      guard let format = format ?? known ?? (path == "-" ? .jsonl : nil) else {
        throw TransferError.unsuitable(
          "\(path): not .jsonl, .json, .csv, .tsv, .sqlite, .xlsx or a directory; name the format with --format"
        )
      }
      form = Form(format, isTree: false)
      self.className = className
      self.options = try Self.options(options, format, path)
      if format == .sqlite || format == .xlsx {
        if path == "-", format == .sqlite {
          throw TransferError.unsuitable("a SQLite database is read from a file, not from a pipe")
        }
        tables = format == .sqlite ? try SQLiteSource(path) : try Workbook(path)
        files = []
        return
      }
      files = [File(path: path, className: className ?? (known == nil ? nil : Self.className(stem)))]
      isUnclassified = className == nil
      return
    }
    let all = try Self.names(in: path)
    let known = format
    let format: ImportFormat
    if let known { format = known } else { format = try Self.format(of: all, in: path) }
    form = Form(format, isTree: true)
    self.className = className
    if format == .sqlite || format == .xlsx { throw TransferError.unsuitable("\(path) is a directory; name the file") }
    self.options = try Self.options(options, format, path)
    if format == .json {
      let directories = all.filter { Self.isDirectory("\(path)/\($0)") && $0 != ".realm" }
      files = directories.map { File(path: "\(path)/\($0)", className: Self.className($0)) }
    } else {
      files = all.compactMap { name -> File? in
        let (stem, known) = Self.parts(of: name)
        return known == format ? File(path: "\(path)/\(name)", className: Self.className(stem)) : nil
      }
    }
  }

  /// Removes the temporary copies of databases. Called when a signal ends the process during an import.
  public static func removeTemporaryFiles() { PrivateCopy.removeAll() }

  /// Returns the options for a format; throws if the format does not support them.
  private static func options(
    _ options: ImportOptions,
    _ format: ImportFormat,
    _ path: String
  ) throws -> ImportOptions {
    switch format {
    case .csv: return options
    case .tsv:
      var options = options
      options.delimiter = options.delimiter ?? 0x09
      // TSV is written by programs, not by spreadsheets.
      options.decimalMark = options.decimalMark ?? .point
      return options
    case .jsonl, .json:
      if options.delimiter == nil, options.decimalMark == nil { return options }
      throw TransferError.unsuitable("\(path) is read as \(format.rawValue): --delimiter and --decimal are for csv")
    case .sqlite, .xlsx:
      if options.delimiter == nil, options.decimalMark == nil, options.encoding == nil {
        var options = options
        // The form of the converted text.
        (options.delimiter, options.decimalMark) = (UInt8(ascii: ","), .point)
        return options
      }
      throw TransferError.unsuitable(
        "\(path) is read as \(format.rawValue): --delimiter, --decimal and --encoding are for texts"
      )
    }
  }

  /// Creates a source from text with objects, or arrays of objects. `name` is used in messages.
  public init(objects text: [UInt8], name: String, className: String) {
    form = .values
    self.className = className
    options = ImportOptions()
    files = [File(path: "", className: className)]
    open = InputFile(text: text, name: name)
  }

  /// Sets the schema of the realm, before the first record is read.
  ///
  /// Without a class from the user, a JSON object of arrays contains the objects of several classes, as in
  /// `{"Person": [..]}`. If a file is not named after a class and the realm has one class, its records are of that
  /// class.
  func use(_ schema: SchemaDescription) throws {
    if let tables {
      try tables.use(schema, className: className)
      files = tables.tables.enumerated().map { File(path: $1.name, className: $1.className, table: $0) }
      tables.notes.forEach(note)
    }
    guard isUnclassified else { return }
    let classes = schema.classes.filter { $0.kind == .topLevel }.map(\.name)
    arrays.known = classes
    let isKnown = files[0].className.map { name in classes.contains { $0.isExactly(name) } } ?? false
    if !isKnown, classes.count == 1 { files[0] = File(path: files[0].path, className: classes[0]) }
  }

  private static func parts(of name: String) -> (stem: String, ImportFormat?) {
    let formats: [(String, ImportFormat)] = [
      (".jsonl", .jsonl), (".ndjson", .jsonl), (".json", .json), (".csv", .csv), (".tsv", .tsv),
      (".sqlite", .sqlite), (".sqlite3", .sqlite), (".db", .sqlite), (".xlsx", .xlsx), (".xlsm", .xlsx),
    ]
    for (suffix, format) in formats {
      if name.hasSuffix(suffix) { return (String(name.dropLast(suffix.count)), format) }
    }
    return (name, nil)
  }

  private static func format(of names: [String], in path: String) throws -> ImportFormat {
    let formats = Set(names.compactMap { parts(of: $0).1 }).subtracting([.json, .sqlite, .xlsx])
    if formats.count > 1 {
      throw TransferError.unsuitable("\(path) holds files of several formats: choose one with --format")
    }
    if let format = formats.first { return format }
    if names.allSatisfy({ isDirectory("\(path)/\($0)") }) { return .json }
    throw TransferError.unsuitable(
      "\(path) holds neither .jsonl nor .csv nor .tsv files nor a directory for each class"
    )
  }

  /// Returns the class for the name of a file or directory. A name that is not the result of escaping is used
  /// unchanged.
  static func className(_ name: String) -> String {
    NameEscaping.className(ofDirectory: Array(name.utf8)) ?? name
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func names(in path: String) throws -> [String] {
    try DirectoryListing.names(in: path)
  }

  /// Orders numbers by value, before all other names, so that objects are created in the order of their keys as far as
  /// the names indicate it.
  private static func comesBefore(_ a: String, _ b: String) -> Bool {
    let keys = [a, b].map { Int64($0.prefix { $0 != "." }) }
    switch (keys[0], keys[1]) {
    case (let a?, let b?): return a < b
    case (nil, nil): return a.utf8.lexicographicallyPrecedes(b.utf8)
    default: return keys[0] != nil
    }
  }

  // MARK: reading

  /// The position of the next record.
  var place: Record.Position { position }

  /// Continues with the record at `place`.
  func seek(to place: Record.Position) throws {
    if place.file != position.file || place.offset == 0 { try enter(place.file) }
    if place.offset == 0 { return }
    position = place
    if form != .tree { open?.seek(to: place.offset, line: place.line) }
  }

  /// Moves to the first record of a file.
  private func enter(_ index: Int) throws {
    position = Record.Position(file: index)
    guard index < files.count else { return }
    let path = files[index].path
    if form == .tree {
      names = try Self.names(in: path).sorted(by: Self.comesBefore)
      return
    }
    // Standard input can be opened only once.
    let file: InputFile
    if let known = open, known.path == path {
      file = known
    } else if let table = files[index].table, let tables {
      file = try tables.text(table)
    } else {
      file = try InputFile(path: path, encoding: options.encoding)
      if options.encoding == nil, let encoding = file.encoding { note("\(file.name): read as \(encoding)") }
    }
    open = file
    file.rewind()
    if form == .csv { try readHeader(file) }
    position.offset = file.offset
    position.line = file.line
  }

  /// The headers of the CSV files that were read, each with the class of the file.
  private(set) var headers: [(path: String, className: String?, header: CSVHeader)] = []

  private func note(_ text: String) { if !notes.contains(text) { notes.append(text) } }

  private func readHeader(_ file: InputFile) throws {
    header = nil
    guard let first = try file.readLine() else { return }
    let dialect = try inTerms(of: file, 1) { () throws(InputError) in try CSVDialect(firstLine: first, options) }
    if CSVDialect.declared(first) == nil { file.rewind() }
    let line = file.line + 1
    guard let record = try file.readRecord(dialect.delimiter) else { return }
    let names = try inTerms(of: file, line) { () throws(InputError) in
      let record = try CSVRecord(record, dialect.delimiter)
      if record.fields.contains(where: { !$0.isQuoted && record.bytes($0).contains(0x0D) }) {
        throw InputError("lines end in a carriage return alone: convert them, such as with tr '\\r' '\\n'")
      }
      return record.fields.map { String(decoding: record.bytes($0), as: UTF8.self) }
    }
    let header = CSVHeader(names, dialect, line: line, unit: file.unit)
    self.header = header
    if !headers.contains(where: { $0.path == file.name }) {
      headers.append((file.name, files[position.file].className, header))
    }
    if options.delimiter == nil, dialect.delimiter != UInt8(ascii: ",") {
      let decimals = dialect.decimalMark == nil ? ", and 1,5 is 1.5" : ""
      note("\(file.name): fields are separated by \(dialect.separatorInWords)\(decimals)")
    }
  }

  private func inTerms<R>(
    of file: InputFile,
    _ line: Int,
    _ body: () throws(InputError) -> R
  ) throws -> R {
    do { return try body() } catch {
      throw TransferError.unsuitable(error.text(file.name, line, unit: file.unit))
    }
  }

  /// Returns the next record; nil at the end.
  func next() throws -> Record? {
    if position == Record.Position() { try enter(0) }
    while position.file < files.count {
      if let record = try nextInFile() { return record }
      try enter(position.file + 1)
    }
    return nil
  }

  private func nextInFile() throws -> Record? {
    let file = files[position.file]
    if form == .tree {
      guard position.offset < names.count else { return nil }
      let name = names[position.offset], path = "\(file.path)/\(name)"
      let record = Record(
        position: position,
        path: path,
        line: 0,
        bytes: try InputFile(path: path, encoding: options.encoding).readRest(),
        className: file.className,
        fileName: name,
        header: nil
      )
      position.offset += 1
      return record
    }
    guard let input = open else { return nil }
    if form == .values { return try nextValue(in: file, input) }
    while true {
      let here = Record.Position(file: position.file, offset: input.offset, line: input.line)
      let delimiter = header?.dialect.delimiter ?? UInt8(ascii: ",")
      guard let bytes = try form == .csv ? input.readRecord(delimiter) : input.readLine() else { return nil }
      position.offset = input.offset
      position.line = input.line
      // In CSV with a single field, a blank line is a record whose value is null.
      let isBlank = bytes.allSatisfy { ($0 == 0x20 || $0 == 0x09 || $0 == 0x0D) && (form == .lines || $0 != delimiter) }
      if isBlank, form == .lines || input.unit == "row" || header?.names.count ?? 0 > 1 { continue }
      return Record(
        position: here,
        path: input.name,
        line: here.line + 1,
        unit: input.unit,
        bytes: bytes,
        className: file.className,
        fileName: nil,
        header: header
      )
    }
  }

  private func nextValue(in file: File, _ input: InputFile) throws -> Record? {
    let here = position
    guard let value = try input.readValue(&position.context, &arrays) else { return nil }
    (position.offset, position.line) = (input.offset, input.line)
    let className = arrays.name(in: position.context)
    var record = Record(
      position: here,
      path: input.name,
      line: value.line,
      bytes: value.bytes,
      className: className ?? file.className,
      fileName: nil,
      header: nil
    )
    record.namesClass = className != nil
    return record
  }
}
