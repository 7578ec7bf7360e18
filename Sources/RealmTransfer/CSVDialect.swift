// How a file of CSV is written: what separates its fields, and the decimal mark of its numbers. Spreadsheets use those
// of their user's country without saying which, so the first line is searched for them.

import RealmPages

/// The decimal mark of numbers.
public enum DecimalMark: String, CaseIterable, Sendable {
  case point, comma
}

/// What the caller knows of a source; nil for what is detected.
public struct ImportOptions: Sendable {
  /// The encoding, by a name that iconv(3) knows.
  public var encoding: String?
  /// The byte between fields of CSV.
  public var delimiter: UInt8?
  /// The decimal mark in CSV.
  public var decimalMark: DecimalMark?

  /// Everything is detected.
  public init() {}
}

/// How a file of CSV is written.
public struct CSVDialect: Sendable {
  /// The byte between fields.
  public var delimiter: UInt8
  /// Nil where both can be: then numbers that could be read in two ways are refused.
  public var decimalMark: DecimalMark?

  /// The dialect of RFC 4180, if nothing else is named.
  public init(delimiter: UInt8 = UInt8(ascii: ","), decimalMark: DecimalMark? = .point) {
    (self.delimiter, self.decimalMark) = (delimiter, decimalMark)
  }

  /// Whether a byte can separate fields.
  public static func isDelimiter(_ byte: UInt8) -> Bool {
    byte == 0x09 || (0x21...0x7E).contains(byte) && !isLetterOrDigit(byte) && !#"".-+{["#.utf8.contains(byte)
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
  }

  /// Reads the dialect from the first line of a file: a line `sep=;`, or the names, by the separator that is most
  /// frequent in them.
  ///
  /// Throws if two are equally frequent.
  init(firstLine: [UInt8], _ options: ImportOptions) throws(CSVProblem) {
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

  /// The separator in words.
  var separatorInWords: String {
    delimiter == 0x09 ? "tabs" : "'\(String(decoding: [delimiter], as: UTF8.self))'"
  }

  /// The separator that Excel writes and reads in a line before the names, `sep=;`; nil for any other line.
  static func declared(_ line: [UInt8]) -> UInt8? {
    let text = line.last == 0x0D ? line.dropLast() : line[...]
    guard text.count == declaration.count + 1, text.starts(with: declaration), let byte = text.last, isDelimiter(byte)
    else { return nil }
    return byte
  }

  /// How the line begins that names the separator.
  static let declaration = Array("sep=".utf8)

  /// The separators that are detected.
  static let separators: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: ";"), 0x09, UInt8(ascii: "|")]

  private static func detected(_ line: [UInt8]) throws(CSVProblem) -> UInt8 {
    var isQuoted = false
    var counts = separators.map { _ in 0 }
    for byte in line {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if !isQuoted, let index = separators.firstIndex(of: byte) { counts[index] += 1 }
    }
    guard let most = counts.max(), most > 0 else { return separators[0] }
    let best = separators.indices.filter { counts[$0] == most }
    if best.count > 1 {
      throw CSVProblem("the separator of the names is not clear: add it, such as --delimiter ';' or --delimiter tab")
    }
    return separators[best[0]]
  }
}

/// The first line of a file of CSV.
final class CSVHeader: Sendable {
  let names: [String]
  let dialect: CSVDialect
  /// The line of the names.
  let line: Int

  init(_ names: [String], _ dialect: CSVDialect, line: Int) {
    (self.names, self.dialect, self.line) = (names, dialect, line)
  }

  /// What messages call a field.
  func name(of index: Int) -> String {
    index < names.count && !names[index].isEmpty ? "field \"\(names[index])\"" : "field \(index + 1)"
  }
}

/// What is wrong with a record, without the place of the record.
struct CSVProblem: Error {
  /// Lines after the first of the record.
  var lines = 0
  /// The field, or the place in the line; empty for the whole.
  var place = ""
  let reason: String

  init(_ reason: String) { self.reason = reason }

  init(_ place: String, _ reason: String) { (self.place, self.reason) = (place, reason) }

  /// A byte that is not UTF-8, and what to do.
  static func notText(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "byte 0x\(digits) is not UTF-8: add the encoding of the file, such as --encoding windows-1252 or latin1"
  }

  /// The message, for a record that begins in a line of a file.
  func text(_ path: String, _ line: Int) -> String {
    "\(path): line \(line + lines)\(place.isEmpty ? "" : ", " + place): \(reason)"
  }
}
