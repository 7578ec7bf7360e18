// One record of CSV, and the JSON object that it stands for. The fields mean what `CSVSink` writes.

import RealmJSON
import RealmPages

/// The fields of one record.
struct CSVRecord {
  struct Field {
    var bytes: [UInt8]
    var isQuoted: Bool
  }

  /// Where the fields of one place in the records belong.
  struct Target {
    /// The name as JSON, with the colon.
    let name: [UInt8]
    let column: Column?
    /// The type whose text the field is; nil for JSON and for properties that do not exist.
    let type: ValueType?

    /// `keyType` tells the type of the primary key of a class.
    init(_ name: String, _ column: Column?, keyType: (TableKey) -> ValueType?) {
      let out = OutputBuffer()
      out.append(quoted: name)
      out.append(":")
      self.name = out.bytes
      self.column = column
      switch column {
      case let column? where column.collection == nil && column.type != .mixed:
        type = column.type == .link ? column.targetTable.flatMap(keyType) ?? .int : column.type
      default: type = nil
      }
    }
  }

  let fields: [Field]

  /// Takes a record apart.
  init(_ bytes: [UInt8], line: Int, of name: String) throws(TransferError) {
    let quote = UInt8(ascii: "\""), comma = UInt8(ascii: ",")
    var fields: [Field] = [], index = 0
    var end = bytes.count
    if end > 0, bytes[end - 1] == 0x0D { end -= 1 }
    while true {
      var field = Field(bytes: [], isQuoted: false)
      if index < end, bytes[index] == quote {
        field.isQuoted = true
        index += 1
        while index < end {
          if bytes[index] == quote {
            index += 1
            if index == end || bytes[index] != quote { break }
          }
          field.bytes.append(bytes[index])
          index += 1
        }
        if index < end, bytes[index] != comma {
          throw .unsuitable("\(name): line \(line): text after the closing quote of field \(fields.count + 1)")
        }
      } else {
        let stop = bytes[index..<end].firstIndex(of: comma) ?? end
        field.bytes = Array(bytes[index..<stop])
        index = stop
      }
      fields.append(field)
      if index >= end { break }
      index += 1
    }
    self.fields = fields
  }

  /// The record as the JSON of an object of a class.
  func json(_ targets: [Target]) -> [UInt8] {
    let out = OutputBuffer()
    out.append("{")
    var isFirst = true
    for (target, field) in zip(targets, fields) {
      // What does not say anything leaves out the property, unless it can be null.
      let isNull = field.bytes.isEmpty && !field.isQuoted
      if isNull, let column = target.column, !column.isNullable || column.collection != nil { continue }
      if !isFirst { out.append(",") }
      isFirst = false
      Self.append(raw: target.name, out)
      if isNull { out.append("null") } else { Self.append(field.bytes, target, out) }
    }
    out.append("}")
    return out.bytes
  }

  private static func append(_ bytes: [UInt8], _ target: Target, _ out: OutputBuffer) {
    guard let type = target.type else { return append(raw: bytes, out) }
    let isJSON = bytes.first == UInt8(ascii: "{") || bytes.first == UInt8(ascii: "\"")
    if isJSON && (type != .string || target.column?.type == .link) { return append(raw: bytes, out) }
    switch type {
    case .int, .bool: append(raw: bytes, out)
    case .float, .double:
      let isWord = bytes.first { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "+") }.map { $0 > UInt8(ascii: "9") }
      if isWord ?? false {
        // NaN, Infinity
        out.append("{\"$numberDouble\":")
        append(string: bytes, out)
        out.append("}")
      } else {
        append(raw: bytes, out)
      }
    default: append(string: bytes, out)
    }
  }

  private static func append(raw bytes: [UInt8], _ out: OutputBuffer) {
    out.append(bytes.span.bytes, in: 0..<bytes.count)
  }

  private static func append(string bytes: [UInt8], _ out: OutputBuffer) { out.append(string: bytes) }
}
