// A spreadsheet in the format .xlsx (ECMA-376) as a source of an import: each sheet is a table of the class of its
// name. Memory is bounded: parts are read as streams, and long texts are kept in a temporary file.

import RealmJSON
import RealmPages

/// A spreadsheet.
final class Workbook: TableSource {
  private struct Sheet {
    let name: String
    let entry: ZipArchive.Entry
    var className: String?
  }

  private let archive: ZipArchive
  private var sheets: [Sheet] = []
  private let strings: SharedStrings
  private let styles: CellStyles
  private var usesYear1904 = false
  private var schema = SchemaDescription(classes: [])

  let isCSV = true
  let newClasses: [ClassDescription] = []
  let notes: [String] = []
  private(set) var mapping: [String] = []

  /// The namespace prefix of relationship types, which ends with the kind of the part.
  private typealias Relation = (id: String, kind: String, target: String)

  /// The limit for the relations of a part, and thereby for the sheets, each of which has a part.
  private static let maxRelations = 10_000

  init(_ path: String) throws {
    let archive = try ZipArchive(path)
    self.archive = archive
    let root = try Self.relations(in: archive, of: "")
    guard let main = root.first(where: { $0.kind == "officeDocument" })?.target, archive.entry(main) != nil else {
      throw archive.error("not a spreadsheet: it has no workbook")
    }
    if main.hasSuffix(".bin") { throw archive.error("an .xlsb file: save it as .xlsx") }
    let relations = try Self.relations(in: archive, of: main)
    func part(_ kind: String) -> ZipArchive.Entry? {
      relations.first { $0.kind == kind }.flatMap { archive.entry($0.target) }
    }
    strings = try SharedStrings(archive, part("sharedStrings"))
    styles = try CellStyles(archive, part("styles"))
    try readSheets(main, relations)
  }

  /// Returns the relations of a part; of the package for an empty name.
  private static func relations(in archive: ZipArchive, of part: String) throws -> [Relation] {
    let slash = part.lastIndex(of: "/")
    let folder = slash.map { String(part[...$0]) } ?? "",
      file = slash.map { part[part.index(after: $0)...] } ?? part[...]
    guard let entry = archive.entry("\(folder)_rels/\(file).rels") else { return [] }
    var reader = try XMLReader(archive, entry), relations: [Relation] = []
    while let event = try reader.event() {
      guard event == .start, reader.name == "Relationship", let id = try reader.attribute("Id"),
        let type = try reader.attribute("Type"), let target = try reader.attribute("Target")
      else { continue }
      if relations.count >= maxRelations { throw archive.error("too many parts") }
      let kind = type.split(separator: "/").last.map(String.init) ?? ""
      relations.append((id, kind, target.hasPrefix("/") ? String(target.dropFirst()) : folder + target))
    }
    return relations
  }

  private func readSheets(_ main: String, _ relations: [Relation]) throws {
    guard let entry = archive.entry(main) else { return }
    var reader = try XMLReader(archive, entry), used: Set<Int> = []
    while let event = try reader.event() {
      if event != .start { continue }
      if reader.name == "workbookPr" {
        let value = try reader.attribute("date1904")
        usesYear1904 = value == "1" || value == "true"
      }
      guard reader.name == "sheet", let name = try reader.attribute("name"), let id = try reader.attribute("id") else {
        continue
      }
      guard let relation = relations.first(where: { $0.id == id }), let entry = archive.entry(relation.target) else {
        throw archive.error("sheet \(name.printable): it is missing in the archive")
      }
      guard used.insert(entry.range.lowerBound).inserted else {
        throw archive.error("sheet \(name.printable): another sheet has the same part")
      }
      // Chart sheets have no cells.
      if relation.kind == "worksheet" { sheets.append(Sheet(name: name, entry: entry)) }
    }
  }

  // MARK: tables

  var tables: [(name: String, className: String?)] {
    sheets.map { ("\(archive.name): sheet \($0.name)", $0.className) }
  }

  func use(_ schema: SchemaDescription, className wanted: String?) throws {
    self.schema = schema
    let classes = schema.classes.filter { $0.kind != .embedded }.map(\.name)
    var used: Set<String> = []
    let names = classes.map { XLSXSink.sheetName($0, &used) }
    for index in sheets.indices {
      let name = sheets[index].name
      let found =
        zip(classes, names).first { $0.1 == name }?.0
        ?? zip(classes, names).first {
          $0.1.lowercased() == name.lowercased()
        }?.0
      sheets[index].className = found ?? name
    }
    if sheets.count == 1, !classes.contains(where: { $0.isExactly(sheets[0].className) }) {
      // A single sheet belongs to the class that the user names, or to the only one.
      sheets[0].className = wanted ?? (classes.count == 1 ? classes[0] : sheets[0].className)
    }
    if let wanted {
      let chosen = sheets.filter { $0.className.isExactly(wanted) }
      if chosen.isEmpty {
        let known = sheets.map(\.name.printable)
        throw archive.error("no sheet \(wanted); \(KnownNames(known).hint(for: wanted))")
      }
      sheets = chosen
    }
    mapping = sheets.map { "sheet \($0.name): class \($0.className ?? "")" }
  }

  func text(_ index: Int) throws -> InputFile {
    let sheet = sheets[index]
    var reader = try SheetReader(
      archive,
      sheet.entry,
      name: tables[index].name,
      strings,
      styles,
      usesYear1904: usesYear1904,
      decimals: decimals(of: sheet.className)
    )
    return try reader.convert()
  }
}

extension Workbook {
  /// Returns the properties that keep numbers as decimal digits: decimal128, strings, and links to them.
  private func decimals(of className: String?) -> [String] {
    guard let description = className.flatMap({ schema[$0] }) else { return [] }
    return description.properties.filter { property in
      if property.collection != nil { return false }
      guard property.type == .link, let target = property.target.flatMap({ schema[$0] }) else {
        return property.type == .decimal128 || property.type == .string
      }
      return target.primaryKey.flatMap { target[$0] }?.type == .string
    }.map(\.name)
  }
}

/// The texts that the cells of all sheets share.
final class SharedStrings {
  private let text: TemporaryText?
  private var ends: [UInt32] = []
  private let name: String

  private static let maxCount = 1 << 24
  private static let maxBytes = Int(UInt32.max)

  /// Reads the texts; none if the workbook does not have the part.
  init(_ archive: ZipArchive, _ entry: ZipArchive.Entry?) throws {
    name = archive.name
    guard let entry else {
      text = nil
      return
    }
    let text = try TemporaryText(limit: Self.maxBytes)
    var reader = try XMLReader(archive, entry), rich = RichText()
    while let event = try reader.event() {
      switch (event, reader.name) {
      case (.start, "si"): rich = RichText()
      case (.end, "si"):
        text.buffer.append(rich.content)
        try text.flush()
        if ends.count >= Self.maxCount || text.isOverLimit { throw archive.error("too many texts") }
        ends.append(UInt32(text.count))
      default: try rich.add(event, reader, at: "\(archive.name): \(entry.name.printable)")
      }
    }
    try text.flush(isEnd: true)
    self.text = text
  }

  /// Returns a text; nil if the index is out of range.
  func text(_ index: Int) throws -> [UInt8]? {
    guard let text, ends.indices.contains(index) else { return nil }
    let start = index == 0 ? 0 : Int(ends[index - 1]), end = Int(ends[index])
    return try text.bytes(at: start, count: end - start)
  }
}

/// Collects the text of a shared string or of a cell, which can consist of runs with different fonts.
struct RichText {
  private(set) var content: [UInt8] = []
  private var isText = false
  private var isPhonetic = false

  private static let maxBytes = 1 << 20

  /// Adds an event inside the element.
  mutating func add(_ event: XMLReader.Event, _ reader: XMLReader, at place: String) throws {
    switch (event, reader.name) {
    case (.start, "t"): isText = true
    case (.end, "t"): isText = false
    // The pronunciation of Japanese text.
    case (.start, "rPh"): isPhonetic = true
    case (.end, "rPh"): isPhonetic = false
    case (.text, _):
      if !isText || isPhonetic { return }
      content += Self.unescaped(reader.text)
      if content.count > Self.maxBytes { throw TransferError.unsuitable("\(place): a text is longer than 1 MiB") }
    default: break
    }
  }

  /// Returns text with the characters in place of `_xHHHH_`; see `XLSXSink.escaped`.
  static func unescaped(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(UInt8(ascii: "_")) else { return text }
    var out: [UInt8] = [], units: [UInt16] = [], index = 0
    func flush() {
      out += Array(String(decoding: units, as: UTF16.self).utf8)
      units = []
    }
    while index < text.count {
      let part = text[index...].prefix(7)
      if part.count == 7, part.starts(with: "_x".utf8), part.last == UInt8(ascii: "_"),
        let unit = UInt16(String(decoding: part.dropFirst(2).dropLast(), as: UTF8.self), radix: 16),
        part.dropFirst(2).first != UInt8(ascii: "+")
      {
        units.append(unit)
        index += 7
      } else {
        flush()
        out.append(text[index])
        index += 1
      }
    }
    flush()
    return out
  }
}

/// The styles that show numbers as dates.
struct CellStyles {
  private var dates: [Bool] = []

  private static let maxStyles = 1 << 17

  /// Reads the styles; none if the workbook does not have the part.
  init(_ archive: ZipArchive, _ entry: ZipArchive.Entry?) throws {
    guard let entry else { return }
    var reader = try XMLReader(archive, entry), formats: [Int: Bool] = [:], isInCells = false
    while let event = try reader.event() {
      switch (event, reader.name) {
      case (.start, "numFmt"):
        guard let id = try reader.attribute("numFmtId").flatMap({ Int($0) }),
          let code = try reader.attribute("formatCode")
        else { continue }
        formats[id] = Self.isDate(code)
        if formats.count > Self.maxStyles { throw archive.error("too many styles") }
      case (.start, "cellXfs"): isInCells = true
      case (.end, "cellXfs"): isInCells = false
      case (.start, "xf") where isInCells:
        if dates.count >= Self.maxStyles { throw archive.error("too many styles") }
        let id = try reader.attribute("numFmtId").flatMap { Int($0) } ?? 0
        dates.append(formats[id] ?? Self.isBuiltInDate(id))
      default: break
      }
    }
  }

  /// True if cells of a style show dates.
  func isDate(_ style: Int) -> Bool { dates.indices.contains(style) && dates[style] }

  /// True for the predefined formats of dates: ECMA-376 part 1, 18.8.30.
  private static func isBuiltInDate(_ id: Int) -> Bool {
    (14...22).contains(id) || (27...36).contains(id) || (50...58).contains(id)
  }

  /// True if a format code shows a date or time; elapsed times, such as `[h]:mm`, are numbers.
  static func isDate(_ code: String) -> Bool {
    var rest = Array(code.lowercased().unicodeScalars)[...], isFound = false
    while let character = rest.popFirst() {
      switch character {
      case "\"": rest = rest.drop { $0 != "\"" }.dropFirst()
      case "\\", "_", "*": rest = rest.dropFirst()
      case "[":
        let inside = rest.prefix { $0 != "]" }
        if !inside.isEmpty, inside.allSatisfy({ "hms".unicodeScalars.contains($0) }) { return false }
        rest = rest.dropFirst(inside.count + 1)
      case "d", "y", "m", "h", "s": isFound = true
      // The sections after the first one are for negative numbers, zero and text.
      case ";": return isFound
      default: break
      }
    }
    return isFound
  }
}
