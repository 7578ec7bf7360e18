// A fast path for imports: parses JSON objects directly into the columns of a batch. It accepts a subset of what
// `JSONText` and `ObjectPlan` accept, with the same meaning; unusual and invalid objects are left to them.

package import RealmPages

/// Parses the texts of objects of one class into batches.
package struct RowReader: Sendable {
  package let form: RowForm
  /// The scratch buffer for strings with escapes.
  private var decoded: [UInt8] = []

  /// Creates a reader for the class of `form`.
  package init(_ form: RowForm) { self.form = form }

  /// Adds the object with the text `bytes`. Returns false and adds nothing if the text is unusual or invalid.
  package mutating func append(_ bytes: [UInt8], to batch: inout RowBatch) -> Bool {
    if appendMembers(bytes, &batch), hasKey(batch) {
      batch.endRow()
      return true
    }
    batch.dropRow()
    return false
  }

  /// True if the object being added has its primary key.
  package func hasKey(_ batch: RowBatch) -> Bool { form.primaryKey.map { batch.has($0) } ?? true }

  // MARK: the object

  private mutating func appendMembers(_ bytes: [UInt8], _ batch: inout RowBatch) -> Bool {
    var index = 0, expected = 0
    Self.skipSpace(bytes, &index)
    guard Self.take(UInt8(ascii: "{"), bytes, &index) else { return false }
    Self.skipSpace(bytes, &index)
    var seenEmpty: Set<Int> = []
    while true {
      guard let name = Self.plainString(bytes, &index), let field = self.field(bytes, name, expected) else {
        return false
      }
      expected = field + 1
      if batch.has(field) || !seenEmpty.isEmpty && seenEmpty.contains(field) { return false }
      Self.skipSpace(bytes, &index)
      guard Self.take(UInt8(ascii: ":"), bytes, &index) else { return false }
      Self.skipSpace(bytes, &index)
      if !appendValue(bytes, &index, field, &batch) { return false }
      // A field left at its default value could occur twice.
      if !batch.has(field) { seenEmpty.insert(field) }
      Self.skipSpace(bytes, &index)
      guard Self.take(UInt8(ascii: ","), bytes, &index) else {
        guard Self.take(UInt8(ascii: "}"), bytes, &index) else { return false }
        Self.skipSpace(bytes, &index)
        return index == bytes.count
      }
      Self.skipSpace(bytes, &index)
    }
  }

  /// Returns the field with this name. Most texts list fields in the order of the class, so `expected` is tried first.
  private func field(_ bytes: [UInt8], _ name: Range<Int>, _ expected: Int) -> Int? {
    func isName(_ field: Int) -> Bool {
      let known = form.fields[field].name
      if known.count != name.count { return false }
      for i in 0..<known.count where known[i] != bytes[name.lowerBound + i] { return false }
      return true
    }
    // Names that begin with a dollar sign are members of records, not fields.
    if name.isEmpty || bytes[name.lowerBound] == UInt8(ascii: "$") { return nil }
    if expected < form.fields.count, isName(expected) { return expected }
    return form.fields.indices.first(where: isName)
  }

  private mutating func appendValue(
    _ bytes: [UInt8],
    _ index: inout Int,
    _ field: Int,
    _ batch: inout RowBatch
  ) -> Bool {
    guard index < bytes.count else { return false }
    if bytes[index] == UInt8(ascii: "n") {
      return Self.takeWord(Self.null, bytes, &index) && appendNull(field, &batch)
    }
    switch form.fields[field].kind {
    case .null: return false
    case .collection(let isArray):
      guard isArray, Self.take(UInt8(ascii: "["), bytes, &index) else { return false }
      Self.skipSpace(bytes, &index)
      return Self.take(UInt8(ascii: "]"), bytes, &index)
    case .value, .link: break
    }
    switch bytes[index] {
    case UInt8(ascii: "t"), UInt8(ascii: "f"):
      guard form.fields[field].type == .bool else { return false }
      let isTrue = bytes[index] == UInt8(ascii: "t")
      guard Self.takeWord(isTrue ? Self.yes : Self.no, bytes, &index) else { return false }
      batch.append(bits: isTrue ? 1 : 0, field)
      return true
    case UInt8(ascii: "\""):
      if let range = Self.plainString(bytes, &index) { return append(text: bytes[range], field, &batch) }
      guard decodeString(bytes, &index) else { return false }
      return append(text: decoded[...], field, &batch)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      guard let range = Self.number(bytes, &index) else { return false }
      return append(number: bytes, range, field, &batch)
    default: return false
    }
  }

  /// Sets a field to null, or leaves a collection, an embedded object or a Mixed at its default value.
  package func appendNull(_ field: Int, _ batch: inout RowBatch) -> Bool {
    switch form.fields[field].kind {
    case .null, .collection: return true
    case .value, .link:
      if !form.fields[field].isNullable { return false }
      batch.append(.null, field)
      return true
    }
  }

  // MARK: values

  /// Sets a field from UTF-8 text: a string, or a type with a text form.
  package func append(text: ArraySlice<UInt8>, _ field: Int, _ batch: inout RowBatch) -> Bool {
    if text.count > RowBatch.longestText { return false }
    switch form.fields[field].type {
    case .string: batch.append(text: text, field)
    case .date:
      guard let date = Timestamp(text: text) else { return false }
      batch.append(.date(date), field)
    case .objectID:
      guard let id = ObjectID(text: text) else { return false }
      batch.append(.objectID(id), field)
    case .uuid:
      guard let id = UniqueID(text: text) else { return false }
      batch.append(.uuid(id), field)
    case .data:
      guard let data = decodedBase64(text) else { return false }
      batch.append(text: data[...], field)
    case .decimal128:
      // NaN and infinity are not JSON numbers.
      guard let decimal = NumberText(text)?.decimal else { return false }
      batch.append(.decimal128(decimal), field)
    case .int, .bool, .float, .double, .mixed, .link: return false
    }
    return true
  }

  /// Sets a field from the text of a JSON number.
  package func append(number bytes: [UInt8], _ range: Range<Int>, _ field: Int, _ batch: inout RowBatch) -> Bool {
    switch form.fields[field].type {
    case .int:
      guard let value = ShortNumber.integer(bytes, range) else { return false }
      batch.append(bits: value, field)
    case .double:
      if let value = ShortNumber.real(bytes, range) {
        batch.append(bits: Int64(bitPattern: value.bitPattern), field)
      } else {
        guard let value = Double(String(decoding: bytes[range], as: UTF8.self)), value.isFinite else { return false }
        batch.append(bits: Int64(bitPattern: value.bitPattern), field)
      }
    case .float:
      guard let value = Float(String(decoding: bytes[range], as: UTF8.self)), value.isFinite else { return false }
      batch.append(bits: Int64(value.bitPattern), field)
    case .decimal128: return append(text: bytes[range], field, &batch)
    default: return false
    }
    return true
  }

  // MARK: the grammar

  private static let null = Array("null".utf8), yes = Array("true".utf8), no = Array("false".utf8)

  @inline(__always)
  private static func skipSpace(_ bytes: [UInt8], _ index: inout Int) {
    while index < bytes.count, isSpace(bytes[index]) { index += 1 }
  }

  @inline(__always)
  private static func take(_ byte: UInt8, _ bytes: [UInt8], _ index: inout Int) -> Bool {
    guard index < bytes.count, bytes[index] == byte else { return false }
    index += 1
    return true
  }

  /// Consumes a word that is followed by a comma, a bracket or a space.
  private static func takeWord(_ word: [UInt8], _ bytes: [UInt8], _ index: inout Int) -> Bool {
    guard index + word.count < bytes.count else { return false }
    for i in word.indices where word[i] != bytes[index + i] { return false }
    index += word.count
    return isEnd(bytes[index])
  }

  @inline(__always)
  private static func isEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || isSpace(byte)
  }

  @inline(__always)
  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  /// Consumes a string without escapes and returns the range between its quotes. Returns nil and consumes nothing for
  /// anything else.
  private static func plainString(_ bytes: [UInt8], _ index: inout Int) -> Range<Int>? {
    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
    let start = index + 1
    var end = start
    while end < bytes.count {
      let byte = bytes[end]
      if byte == UInt8(ascii: "\"") {
        index = end + 1
        return start..<end
      }
      if byte < 0x20 || byte == UInt8(ascii: "\\") { return nil }
      if byte < 0x80 {
        end += 1
      } else {
        let length = unsafe UTF8Sequence.length(in: bytes.span.bytes, at: end)
        if length == 0 { return nil }
        end += length
      }
    }
    return nil
  }

  /// Consumes a string with simple escapes and decodes it.
  private mutating func decodeString(_ bytes: [UInt8], _ index: inout Int) -> Bool {
    decoded.removeAll(keepingCapacity: true)
    var next = index + 1
    while next < bytes.count {
      let byte = bytes[next]
      switch byte {
      case UInt8(ascii: "\""):
        index = next + 1
        return true
      case UInt8(ascii: "\\"):
        guard next + 1 < bytes.count, let escaped = simpleEscape(bytes[next + 1]) else { return false }
        decoded.append(escaped)
        next += 2
      case 0..<0x20: return false
      case 0x20..<0x80:
        decoded.append(byte)
        next += 1
      default:
        let length = unsafe UTF8Sequence.length(in: bytes.span.bytes, at: next)
        if length == 0 { return false }
        decoded.append(contentsOf: bytes[next..<next + length])
        next += length
      }
    }
    return false
  }

  /// Consumes a number and returns its range.
  private static func number(_ bytes: [UInt8], _ index: inout Int) -> Range<Int>? {
    let start = index
    var end = index
    func skipDigits() -> Bool {
      let first = end
      while end < bytes.count, bytes[end] &- UInt8(ascii: "0") <= 9 { end += 1 }
      return end > first
    }
    if bytes[end] == UInt8(ascii: "-") { end += 1 }
    let whole = end
    if !skipDigits() || end - whole > 1 && bytes[whole] == UInt8(ascii: "0") { return nil }
    if end < bytes.count, bytes[end] == UInt8(ascii: ".") {
      end += 1
      if !skipDigits() { return nil }
    }
    if end < bytes.count, bytes[end] | 0x20 == UInt8(ascii: "e") {
      end += 1
      if end < bytes.count, bytes[end] == UInt8(ascii: "+") || bytes[end] == UInt8(ascii: "-") { end += 1 }
      if !skipDigits() { return nil }
    }
    // Inside an object, a number is never the last byte.
    guard end < bytes.count, isEnd(bytes[end]) else { return nil }
    index = end
    return start..<end
  }
}
