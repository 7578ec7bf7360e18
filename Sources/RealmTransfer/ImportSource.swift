// What an import reads: files of lines or of CSV, or a tree of files, found below a path; then record by record, from
// any record on.

import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// The formats of import.
public enum ImportFormat: String, CaseIterable, Sendable {
  case jsonl, json, csv
}

/// One object as its source tells it.
struct Record {
  /// Where to read it again.
  struct Position: Hashable {
    var file = 0
    var offset = 0
    var line = 0
    /// In a file of JSON values, what comes before it.
    var context = InputFile.ValueContext.open
  }

  let position: Position
  /// The file that it is in.
  let path: String
  /// The first line of it; 0 if it is a file of its own.
  let line: Int
  let bytes: [UInt8]
  /// The class that the name of the file or directory tells, or its text; nil if they tell none.
  var className: String?
  /// The name of its file in a tree.
  let fileName: String?
  /// The names of the fields, in CSV.
  let header: [String]?
  /// Its JSON, if that was read already.
  var text: JSONText?

  /// Where it is, for messages.
  var place: String { line == 0 ? path : "\(path): line \(line)" }

  /// The JSON that a record of CSV stands for.
  func text(_ form: [CSVRecord.Target]) throws(RecordError) -> JSONText {
    let record: CSVRecord
    do throws(TransferError) { record = try CSVRecord(bytes, line: line, of: path) } catch {
      throw RecordError(reason: error.description)
    }
    if record.fields.count != form.count {
      throw RecordError(reason: "\(place): \(record.fields.count) fields instead of \(form.count)")
    }
    return try json(record.json(form))
  }

  /// The JSON that it is.
  func json() throws(RecordError) -> JSONText { try json(bytes) }

  private func json(_ bytes: [UInt8]) throws(RecordError) -> JSONText {
    do throws(JSONInputError) { return try JSONText(bytes, firstLine: max(1, line)) } catch {
      throw RecordError(reason: "\(path): \(error)")
    }
  }
}

/// Why a record is no object.
struct RecordError: Error {
  /// With the place.
  let reason: String
}

/// Records in the order of the source.
public final class ImportSource {
  private struct File {
    let path: String
    let className: String?
  }

  /// How records follow each other.
  private enum Form {
    case lines, csv, tree
    /// Objects, or arrays of them, over any number of lines.
    case values

    init(_ format: ImportFormat, isTree: Bool) {
      switch format {
      case .jsonl: self = .lines
      case .csv: self = .csv
      case .json: self = isTree ? .tree : .values
      }
    }
  }

  private let form: Form
  private let files: [File]
  private var position = Record.Position()
  private var open: InputFile?
  private var header: [String]?
  private var names: [String] = []

  /// Finds the files below `path`; `-` is standard input. Without a format the names tell it.
  ///
  /// `className` is the class of all records, where nothing else tells it.
  public init(_ path: String, format: ImportFormat?, className: String?) throws(TransferError) {
    var status = stat()
    if path != "-", stat(path, &status) != 0 { throw .file(path, errno) }
    guard path != "-", status.st_mode & S_IFMT == S_IFDIR else {
      let (stem, known) = Self.parts(of: path.split(separator: "/").last.map(String.init) ?? path)
      guard let format = format ?? known ?? (path == "-" ? .jsonl : nil) else {
        throw .unsuitable("\(path): neither .jsonl nor .json nor .csv nor a directory; say what it is with --format")
      }
      form = Form(format, isTree: false)
      files = [File(path: path, className: className ?? (known == nil ? nil : Self.className(stem)))]
      return
    }
    let all = try Self.names(in: path)
    let known = format
    let format: ImportFormat
    if let known { format = known } else { format = try Self.format(of: all, in: path) }
    form = Form(format, isTree: true)
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

  /// Objects in a text, or arrays of them; `name` is what messages call it.
  public init(objects text: [UInt8], name: String, className: String) {
    form = .values
    files = [File(path: "", className: className)]
    open = InputFile(text: text, name: name)
  }

  private static func parts(of name: String) -> (stem: String, ImportFormat?) {
    for (suffix, format) in [(".jsonl", ImportFormat.jsonl), (".ndjson", .jsonl), (".json", .json), (".csv", .csv)] {
      if name.hasSuffix(suffix) { return (String(name.dropLast(suffix.count)), format) }
    }
    return (name, nil)
  }

  private static func format(of names: [String], in path: String) throws(TransferError) -> ImportFormat {
    let formats = Set(names.compactMap { parts(of: $0).1 }).subtracting([.json])
    if formats.count > 1 {
      throw .unsuitable("\(path) holds both JSON Lines and CSV: choose with --format")
    }
    if let format = formats.first { return format }
    if names.allSatisfy({ isDirectory("\(path)/\($0)") }) { return .json }
    throw .unsuitable("\(path) holds neither .jsonl nor .csv files nor a directory for each class")
  }

  /// The class of a file or directory; a name that no escaping gives is taken as it is.
  private static func className(_ name: String) -> String {
    NameEscaping.className(ofDirectory: Array(name.utf8).span.bytes) ?? name
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func names(in path: String) throws(TransferError) -> [String] {
    do throws(FileError) { return try DirectoryListing.names(in: path) } catch { throw .file(path, error.code) }
  }

  /// Numbers by value, and before other names: objects are made in the order of their keys, as far as names tell it.
  private static func comesBefore(_ a: String, _ b: String) -> Bool {
    let keys = [a, b].map { Int64($0.prefix { $0 != "." }) }
    switch (keys[0], keys[1]) {
    case (let a?, let b?): return a < b
    case (nil, nil): return a.utf8.lexicographicallyPrecedes(b.utf8)
    default: return keys[0] != nil
    }
  }

  // MARK: reading

  /// Where the next record begins.
  var place: Record.Position { position }

  /// Goes on with the record at a place.
  func seek(to place: Record.Position) throws(TransferError) {
    if place.file != position.file || place.offset == 0 { try enter(place.file) }
    if place.offset == 0 { return }
    position = place
    if form != .tree { open?.seek(to: place.offset, line: place.line) }
  }

  /// Goes to the first record of a file.
  private func enter(_ index: Int) throws(TransferError) {
    position = Record.Position(file: index)
    guard index < files.count else { return }
    let path = files[index].path
    if form == .tree {
      names = try Self.names(in: path).sorted(by: Self.comesBefore)
      return
    }
    // Standard input can be opened once only.
    let file: InputFile
    if let known = open, known.path == path { file = known } else { file = try InputFile(path: path) }
    open = file
    file.seek(to: 0, line: 0)
    if form == .csv, let record = try file.readRecord() {
      header = try CSVRecord(record, line: 1, of: file.name).fields.map { String(decoding: $0.bytes, as: UTF8.self) }
    }
    position.offset = file.offset
    position.line = file.line
  }

  /// The next record; nil at the end.
  func next() throws(TransferError) -> Record? {
    if position == Record.Position() { try enter(0) }
    while position.file < files.count {
      if let record = try nextInFile() { return record }
      try enter(position.file + 1)
    }
    return nil
  }

  private func nextInFile() throws(TransferError) -> Record? {
    let file = files[position.file]
    if form == .tree {
      guard position.offset < names.count else { return nil }
      let name = names[position.offset], path = "\(file.path)/\(name)"
      let record = Record(
        position: position,
        path: path,
        line: 0,
        bytes: try InputFile(path: path).readRest(),
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
      guard let bytes = try form == .csv ? input.readRecord() : input.readLine() else { return nil }
      position.offset = input.offset
      position.line = input.line
      // In CSV of one field, nothing is null.
      let isBlank = bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      if isBlank, form == .lines || header?.count ?? 0 > 1 { continue }
      return Record(
        position: here,
        path: input.name,
        line: here.line + 1,
        bytes: bytes,
        className: file.className,
        fileName: nil,
        header: header
      )
    }
  }

  private func nextValue(in file: File, _ input: InputFile) throws(TransferError) -> Record? {
    let here = position
    guard let value = try input.readValue(&position.context) else { return nil }
    (position.offset, position.line) = (input.offset, input.line)
    return Record(
      position: here,
      path: input.name,
      line: value.line,
      bytes: value.bytes,
      className: file.className,
      fileName: nil,
      header: nil
    )
  }
}
