// Renders scalar values in the three notations. docs/COMMANDS.md has a table of them.

import RealmPages

extension ObjectRenderer {
  /// The integers that are written as numbers. Those beyond +-2^53 would lose digits in readers that parse all numbers
  /// as doubles.
  package static var plainIntegers: ClosedRange<Int64> { -9_007_199_254_740_992...9_007_199_254_740_992 }
}

extension JSONWriter {
  /// Writes a value that is not a link or a collection. Returns false, and writes nothing, for those.
  @inline(__always)
  mutating func scalar(_ value: ValueView, _ form: ValueForm) -> Bool {
    switch value {
    case .null: null()
    case .int(let value): int(value, form)
    case .bool(let value): bool(value)
    case .float(let value): float(value, form)
    case .double(let value): double(value, form)
    case .string(let value): string(value)
    case .data(let value): data(value, form)
    case .date(let value): date(value, form)
    case .decimal128(let value): decimal128(value, form)
    case .objectID(let value): objectID(value, form)
    case .uuid(let value): uuid(value, form)
    case .link, .list, .set, .dictionary: return false
    }
    return true
  }

  mutating func null() { out.append("null") }

  mutating func bool(_ value: Bool) { out.append(value ? "true" : "false") }

  mutating func int(_ value: Int64, _ form: ValueForm) {
    if form != .canonical && ObjectRenderer.plainIntegers.contains(value) {
      out.append(decimal: value)
    } else {
      wrapped("$numberLong") { $0.append(decimal: value) }
    }
  }

  /// In a Mixed, an integral double includes its type, because some readers turn `1.0` into `1`.
  mutating func double(_ value: Double, _ form: ValueForm) {
    if !value.isFinite {
      wrapped("$numberDouble") { $0.append(Self.name(ofNonFinite: value)) }
    } else if form == .canonical || form == .relaxed && value == value.rounded(.towardZero) {
      wrapped("$numberDouble") { $0.append(real: value) }
    } else {
      out.append(real: value)
    }
  }

  mutating func float(_ value: Float, _ form: ValueForm) {
    if !value.isFinite {
      wrapped(form == .bare ? "$numberDouble" : "$numberFloat") { $0.append(Self.name(ofNonFinite: Double(value))) }
    } else if form == .bare {
      out.append(real: value)
    } else {
      wrapped("$numberFloat") { $0.append(real: value) }
    }
  }

  /// Writes a string, or its bytes in base64 if they are not UTF-8.
  mutating func string(_ value: ByteView) {
    if value.withSpan({ out.append(quoted: $0) }) { return }
    beginWrapper("$invalidString")
    wrapped("base64") { $0.append(base64: value) }
    endObject()
  }

  mutating func data(_ value: ByteView, _ form: ValueForm) {
    if form == .bare {
      quoted { $0.append(base64: value) }
    } else {
      beginWrapper("$binary")
      beginObject()
      member("base64", isFirst: true)
      quoted { $0.append(base64: value) }
      member("subType")
      out.append("\"00\"")
      endObject()
      endObject()
    }
  }

  mutating func date(_ value: Timestamp, _ form: ValueForm) {
    if form == .canonical, let milliseconds = value.exactMilliseconds {
      beginWrapper("$date")
      wrapped("$numberLong") { $0.append(decimal: milliseconds) }
      endObject()
      return
    }
    let mark = (writer: self, count: out.count)
    if form != .bare { beginWrapper("$date") }
    out.append(UInt8(ascii: "\""))
    if out.append(date: value) {
      out.append(UInt8(ascii: "\""))
      if form != .bare { endObject() }
    } else {
      self = mark.writer
      out.truncate(to: mark.count)
      farDate(value)
    }
  }

  mutating func decimal128(_ value: Decimal128, _ form: ValueForm) {
    text("$numberDecimal", form) { $0.append(value) }
  }

  mutating func objectID(_ value: ObjectID, _ form: ValueForm) {
    text("$oid", form) { $0.append(value) }
  }

  mutating func uuid(_ value: UniqueID, _ form: ValueForm) {
    text("$uuid", form) { $0.append(value) }
  }

  /// Writes a date that ISO 8601 text cannot express, as the two stored parts.
  private mutating func farDate(_ value: Timestamp) {
    beginWrapper("$date")
    beginObject()
    member("seconds", isFirst: true)
    quoted { $0.append(decimal: value.seconds) }
    member("nanoseconds")
    out.append(decimal: Int64(value.nanoseconds))
    endObject()
    endObject()
  }

  /// Writes a string without escapes, alone or as the only member of an object that names its type.
  private mutating func text(_ type: StaticString, _ form: ValueForm, _ body: (OutputBuffer) -> Void) {
    if form == .bare { quoted(body) } else { wrapped(type, body) }
  }

  private mutating func wrapped(_ type: StaticString, _ body: (OutputBuffer) -> Void) {
    beginWrapper(type)
    quoted(body)
    endObject()
  }

  private func quoted(_ body: (OutputBuffer) -> Void) {
    out.append(UInt8(ascii: "\""))
    body(out)
    out.append(UInt8(ascii: "\""))
  }

  private static func name(ofNonFinite value: Double) -> StaticString {
    if value.isNaN { return "NaN" }
    return value > 0 ? "Infinity" : "-Infinity"
  }
}
