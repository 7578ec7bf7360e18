// Splits one CSV record into fields, by RFC 4180: fields can be quoted, and a quote inside is doubled.

import RealmJSON
import RealmPages

/// The fields of one record.
struct CSVRecord {
  struct Field {
    /// The range in `text`.
    var range: Range<Int>
    var isQuoted: Bool
  }

  /// The record, with the quotes around and the doubled quotes inside quoted fields removed.
  let text: [UInt8]
  let fields: [Field]

  /// Splits a record.
  init(_ bytes: [UInt8], _ delimiter: UInt8) throws(InputError) {
    let quote = UInt8(ascii: "\"")
    let end = bytes.last == 0x0D ? bytes.count - 1 : bytes.count
    let span = bytes.span
    var fields: [Field] = []
    fields.reserveCapacity(16)
    var text: [UInt8] = [], copied = 0, index = 0
    while true {
      if index < end, span[index] == quote {
        // Bytes before a quoted field are copied in one run; the field itself is copied without its quotes.
        text += bytes[copied..<index]
        let start = text.count
        index += 1
        while index < end {
          if span[index] == quote {
            index += 1
            if index == end || span[index] != quote { break }
          }
          text.append(span[index])
          index += 1
        }
        fields.append(Field(range: start..<text.count, isQuoted: true))
        if index < end, span[index] != delimiter {
          let problem = "text after the closing quote; a quote within a field is written twice"
          throw InputError("field \(fields.count)", problem)
        }
        copied = index
      } else {
        let start = index
        while index < end, span[index] != delimiter { index += 1 }
        let offset = text.count - copied
        fields.append(Field(range: start + offset..<index + offset, isQuoted: false))
      }
      if index >= end { break }
      index += 1
    }
    self.text = copied == 0 ? bytes : text + bytes[copied..<end]
    self.fields = fields
    try Self.checkText(bytes)
  }

  /// Returns the content of a field.
  func bytes(_ field: Field) -> [UInt8] { Array(text[field.range]) }

  /// Throws if the bytes are not UTF-8, with the line and column.
  private static func checkText(_ bytes: [UInt8]) throws(InputError) {
    let span = unsafe bytes.span.bytes
    if UTF8Sequence.isValid(span) { return }
    var index = 0, line = 0, column = 1
    while index < bytes.count {
      let length = UTF8Sequence.length(in: span, at: index)
      if length == 0 {
        throw InputError(.syntax, line: line, path: "column \(column)", InputError.notText(bytes[index]))
      }
      if bytes[index] == 0x0A { (line, column) = (line + 1, 1) } else { column += 1 }
      index += length
    }
  }
}

/// Finds the end of a record: the first line break outside of quotes.
struct CSVQuotes {
  let delimiter: UInt8
  private(set) var isOpen = false
  /// True if the next byte can open quotes: at the beginning of a field, or after a quote, as the second of a doubled
  /// quote.
  private var canOpen = true

  init(delimiter: UInt8) { self.delimiter = delimiter }

  /// Scans a line.
  mutating func pass(_ line: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    if !isOpen && !line.contains(quote) { return }
    let span = line.span
    for index in 0..<span.count {
      let byte = span[index]
      if isOpen {
        if byte == quote { (isOpen, canOpen) = (false, true) }
      } else if byte == quote, canOpen {
        isOpen = true
      } else {
        canOpen = byte == delimiter
      }
    }
  }
}
