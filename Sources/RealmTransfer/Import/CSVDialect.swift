// The dialect of a CSV file: the field separator and the decimal mark. Spreadsheets use those of the user's locale
// without declaring them, so they are detected from the first line.

import RealmPages

/// The decimal mark of numbers.
public enum DecimalMark: String, CaseIterable, Sendable {
  case point, comma
}

/// Known properties of a source. Those that are nil are detected.
public struct ImportOptions: Sendable {
  /// The encoding, by its iconv(3) name.
  public var encoding: String?
  /// The byte between CSV fields.
  public var delimiter: UInt8?
  /// The decimal mark in CSV.
  public var decimalMark: DecimalMark?

  /// Creates options that detect everything.
  public init() {}
}

/// The dialect of a CSV file.
public struct CSVDialect: Sendable {
  /// The byte between fields.
  public var delimiter: UInt8
  /// The decimal mark; nil if it is unknown. Numbers that could be read in two ways are then rejected.
  public var decimalMark: DecimalMark?

  /// Creates a dialect; by default that of RFC 4180.
  public init(delimiter: UInt8 = UInt8(ascii: ","), decimalMark: DecimalMark? = .point) {
    (self.delimiter, self.decimalMark) = (delimiter, decimalMark)
  }

  /// True if a byte can separate fields.
  public static func isDelimiter(_ byte: UInt8) -> Bool {
    byte == 0x09 || (0x21...0x7E).contains(byte) && !isLetterOrDigit(byte) && !#"".-+{["#.utf8.contains(byte)
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
  }

  /// Detects the dialect from the first line of a file: a line such as `sep=;`, or the header, in which the most
  /// frequent separator is used.
  ///
  /// - Throws: if two separators are equally frequent.
  init(firstLine: [UInt8], _ options: ImportOptions) throws(InputError) {
    let delimiter: UInt8
    if let known = options.delimiter ?? Self.declared(firstLine) {
      delimiter = known
    } else {
      delimiter = try Self.detected(firstLine)
    }
    self.init(
      delimiter: delimiter,
      decimalMark: options.decimalMark ?? (delimiter == UInt8(ascii: ",") ? .point : nil)
    )
  }

  /// The separator, for messages.
  var separatorInWords: String {
    delimiter == 0x09 ? "tabs" : "'\(String(decoding: [delimiter], as: UTF8.self))'"
  }

  /// Returns the separator in a line such as `sep=;`, which Excel reads and writes before the header; nil for any other
  /// line.
  static func declared(_ line: [UInt8]) -> UInt8? {
    let text = line.last == 0x0D ? line.dropLast() : line[...]
    guard text.count == declaration.count + 1, text.starts(with: declaration), let byte = text.last, isDelimiter(byte)
    else { return nil }
    return byte
  }

  /// The beginning of the line that declares the separator.
  static let declaration = Array("sep=".utf8)

  /// The separators that can be detected.
  static let separators: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: ";"), 0x09, UInt8(ascii: "|")]

  private static func detected(_ line: [UInt8]) throws(InputError) -> UInt8 {
    var isQuoted = false
    var counts = separators.map { _ in 0 }
    for byte in line {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if !isQuoted, let index = separators.firstIndex(of: byte) { counts[index] += 1 }
    }
    guard let most = counts.max(), most > 0 else { return separators[0] }
    let best = separators.indices.filter { counts[$0] == most }
    if best.count > 1 {
      throw InputError("the separator of the names is not clear: add it, such as --delimiter ';' or --delimiter tab")
    }
    return separators[best[0]]
  }
}

/// The header of a CSV file.
final class CSVHeader: Sendable {
  let names: [String]
  let dialect: CSVDialect
  /// The number of the header's line.
  let line: Int
  /// The word for the position of a record; see `InputFile.unit`.
  let unit: String

  init(_ names: [String], _ dialect: CSVDialect, line: Int, unit: String = "line") {
    (self.names, self.dialect, self.line, self.unit) = (names, dialect, line, unit)
  }

  /// Returns the description of a field for messages.
  func name(of index: Int) -> String {
    index < names.count && !names[index].isEmpty ? "field \"\(names[index])\"" : "field \(index + 1)"
  }
}

/// Problems with records. The line of a problem in a CSV record is counted from the first line of the record, from 0.
extension InputError {
  init(_ reason: String) { self.init(.syntax, reason) }

  /// Creates a problem with a field, or at a position in a line.
  init(_ place: String, _ reason: String) { self.init(.syntax, path: place, reason) }

  /// Returns the message for a byte that is not UTF-8, with the remedy.
  static func notText(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "byte 0x\(digits) is not UTF-8: add the encoding of the file, such as --encoding windows-1252 or latin1"
  }

  /// Returns the message for a record of a table that begins at `line` of the file.
  func text(_ file: String, _ line: Int, unit: String = "line") -> String {
    "\(file): \(unit) \(line + self.line)\(path.isEmpty ? "" : ", " + path): \(problem)"
  }
}
