// Converts names of classes and objects to file names and back. Invariant: the mapping is a bijection, so every key has
// exactly one name, and only that name maps back to it.
//
// `%XX` represents `/`, `%`, control characters, DEL, a `.` at the start, at the end or after another `.`, and each
// byte that is not part of well-formed UTF-8. A name therefore never contains `..`, even with `.json` appended: some
// archive programs reject such names. Escaping never produces `%null`, `%empty` or `%~`. A string key whose name would
// exceed 255 bytes becomes the longest prefix of complete characters within 232 bytes, `%~`, and 16 hexadecimal digits
// of the SHA-256 of the key.

import COpenSSL
public import RealmJSON
public import RealmPages

/// The key that the name of an object file represents.
public enum ObjectFileName: Hashable, Sendable {
  /// The primary key of the object.
  case key(PrimaryKey)
  /// The object key, in a class without primary key.
  case objectKey(ObjKey)
  /// The prefix of a long string key and the first eight bytes, big-endian, of its SHA-256.
  case hashed(prefix: [UInt8], digest: UInt64)
}

/// Converts keys to file names and back.
public enum NameEscaping {
  /// The maximum length of a file name in bytes.
  public static let longestName = 255
  /// The extension of all object files.
  public static let suffix = ".json"

  private static let suffixLength = 5
  private static let longestPrefix = 232
  private static let hashLength = 18

  // MARK: names of classes

  /// Appends the directory name of a class to `out`.
  public static func append(directoryOf className: String, to out: OutputBuffer) {
    if className.isEmpty {
      out.append("%empty")
      return
    }
    var className = className
    className.withUTF8 { text in
      _ = unsafe escape(UnsafeRawBufferPointer(text).bytes, limit: .max, to: out)
    }
  }

  /// Returns the directory name of a class.
  public static func directory(of className: String) -> String {
    let out = OutputBuffer()
    append(directoryOf: className, to: out)
    return out.string
  }

  /// Returns the class whose directory has this name; nil if the name is not the directory name of any class.
  public static func className(ofDirectory name: RawSpan) -> String? {
    if matches(name, "%empty") { return "" }
    guard let bytes = unescape(name) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Like `className(ofDirectory:)` for a span, but for an array.
  public static func className(ofDirectory name: [UInt8]) -> String? {
    // Safe: integers have no padding, so each of their bytes is initialized.
    unsafe className(ofDirectory: name.span.bytes)
  }

  // MARK: names of objects

  /// Appends the file name of the cursor's current object. The name is derived from the value of `column`, its primary
  /// key, or from the object key if `column` is nil or not of a primary key type.
  public static func append(fileOf cursor: ObjectCursor, column: Int?, to out: OutputBuffer) throws(EngineError) {
    if let column, try append(fileOf: cursor.value(column), to: out) { return }
    append(fileOf: cursor.key, to: out)
  }

  /// Appends the file name of the object with this primary key to `out`.
  ///
  /// Returns false, without appending anything, if a primary key cannot have this value. Does not allocate memory while
  /// `out` has room.
  public static func append(fileOf primaryKey: ValueView, to out: OutputBuffer) -> Bool {
    switch primaryKey {
    case .null: out.append("%null")
    case .int(let value): out.append(decimal: value)
    case .objectID(let value): out.append(value)
    case .uuid(let value): out.append(value)
    case .string(let value):
      let bytes = unsafe value.unsafeBytes
      unsafe append(text: bytes.bytes, to: out)
    default: return false
    }
    out.append(".json")
    return true
  }

  /// Appends the file name of the object with this primary key to `out`.
  public static func append(fileOf primaryKey: PrimaryKey, to out: OutputBuffer) {
    switch primaryKey {
    case .null: out.append("%null")
    case .int(let value): out.append(decimal: value)
    case .objectID(let value): out.append(value)
    case .uuid(let value): out.append(value)
    case .string(let value): unsafe append(text: value.span.bytes, to: out)
    }
    out.append(".json")
  }

  /// Appends the file name of an object in a class without primary key to `out`.
  public static func append(fileOf key: ObjKey, to out: OutputBuffer) {
    out.append(decimal: key.value)
    out.append(".json")
  }

  /// Returns the file name of the object with this primary key.
  public static func file(of primaryKey: PrimaryKey) -> String {
    let out = OutputBuffer()
    append(fileOf: primaryKey, to: out)
    return out.string
  }

  /// Parses the name of a file in a class's directory. Returns nil if no object can have this name.
  ///
  /// `type` is the type of the class's primary key; nil for a class without one.
  public static func parse(file name: RawSpan, primaryKey type: ValueType?) -> ObjectFileName? {
    let length = name.byteCount - suffixLength
    guard length > 0, name.byteCount <= longestName, matches(name.extracting(length...), ".json") else { return nil }
    let stem = name.extracting(..<length)
    guard let type else {
      return integer(stem).flatMap { $0 >= 0 ? .objectKey(ObjKey($0)) : nil }
    }
    if matches(stem, "%null") { return .key(.null) }
    switch type {
    case .int: return integer(stem).map { .key(.int($0)) }
    case .objectID: return lowerCase(stem).flatMap { ObjectID(text: $0) }.map { .key(.objectID($0)) }
    case .uuid: return lowerCase(stem).flatMap { UniqueID(text: $0) }.map { .key(.uuid($0)) }
    case .string: return string(stem)
    default: return nil
    }
  }

  /// Like `parse(file:primaryKey:)` for a span, but for an array.
  public static func parse(file name: [UInt8], primaryKey type: ValueType?) -> ObjectFileName? {
    // Safe: integers have no padding, so each of their bytes is initialized.
    unsafe parse(file: name.span.bytes, primaryKey: type)
  }

  /// Returns the digest in the name of a long string key.
  public static func digest(of key: RawSpan) -> UInt64 {
    var digest: [4 of UInt64] = [0, 0, 0, 0]
    unsafe key.withUnsafeBytes { key in
      unsafe withUnsafeMutableBytes(of: &digest) { digest in
        _ = unsafe SHA256(
          key.baseAddress?.assumingMemoryBound(to: UInt8.self),
          key.count,
          digest.baseAddress?.assumingMemoryBound(to: UInt8.self)
        )
      }
    }
    return digest[0].bigEndian
  }

  // MARK: escaping

  private static func append(text: RawSpan, to out: OutputBuffer) {
    if text.byteCount == 0 {
      out.append("%empty")
      return
    }
    let start = out.count
    let prefixLength = escape(text, limit: longestName - suffixLength, to: out)
    guard let prefixLength else { return }
    out.truncate(to: start + prefixLength)
    out.append("%~")
    out.append(hex: digest(of: text), digits: 16)
  }

  /// Appends the escaped text.
  ///
  /// If that exceeds `limit`, stops early and returns the length of the longest prefix that fits in a shortened name.
  private static func escape(_ text: RawSpan, limit: Int, to out: OutputBuffer) -> Int? {
    let start = out.count
    var prefixLength = 0
    var written = 0
    var index = 0
    while index < text.byteCount {
      let length = plainLength(text, index, isWhole: true)
      if length > 0 {
        index += length
      } else {
        out.append(text, in: written..<index)
        out.append(UInt8(ascii: "%"))
        out.append(upperHex: byte(text, index))
        index += 1
        written = index
      }
      let total = out.count - start + index - written
      if total <= longestPrefix { prefixLength = total }
      if total > limit {
        out.append(text, in: written..<index)
        return prefixLength
      }
    }
    out.append(text, in: written..<index)
    return nil
  }

  /// Returns the text whose escaped form is exactly `name` or, unless `isWhole`, begins with `name`; nil if there is
  /// none.
  private static func unescape(_ name: RawSpan, isWhole: Bool = true) -> [UInt8]? {
    if name.byteCount == 0 { return nil }
    var text: [UInt8] = []
    text.reserveCapacity(name.byteCount)
    var index = 0
    while index < name.byteCount {
      let character = byte(name, index)
      if character != UInt8(ascii: "%") {
        text.append(character)
        index += 1
      } else {
        guard index + 3 <= name.byteCount, let high = hexDigit(byte(name, index + 1), upper: true),
          let low = hexDigit(byte(name, index + 2), upper: true)
        else { return nil }
        text.append(high << 4 | low)
        index += 3
      }
    }
    return unsafe isEscape(name, of: text.span.bytes, isWhole: isWhole) ? text : nil
  }

  /// Returns true if `name`, which decodes to `text`, escapes exactly the bytes that require it.
  private static func isEscape(_ name: RawSpan, of text: RawSpan, isWhole: Bool) -> Bool {
    var nameIndex = 0
    var index = 0
    while index < text.byteCount {
      let length = plainLength(text, index, isWhole: isWhole)
      for offset in 0..<max(length, 1) {
        guard nameIndex < name.byteCount else { return false }
        let isEscaped = byte(name, nameIndex) == UInt8(ascii: "%")
        if isEscaped != (length == 0) { return false }
        if !isEscaped && byte(name, nameIndex) != byte(text, index + offset) { return false }
        nameIndex += isEscaped ? 3 : 1
      }
      index += max(length, 1)
    }
    return nameIndex == name.byteCount
  }

  /// Returns the length of the character at `index` if it is not escaped in a name; 0 if its first byte is escaped.
  /// Unless `isWhole`, the text is not followed by the end of the name.
  private static func plainLength(_ text: RawSpan, _ index: Int, isWhole: Bool) -> Int {
    switch byte(text, index) {
    case 0..<0x20, 0x7F, UInt8(ascii: "/"), UInt8(ascii: "%"): 0
    case UInt8(ascii: "."):
      index == 0 || isWhole && index == text.byteCount - 1 || byte(text, index - 1) == UInt8(ascii: ".") ? 0 : 1
    case 0..<0x80: 1
    default: UTF8Sequence.length(in: text, at: index)
    }
  }

  // MARK: parsing

  private static func string(_ stem: RawSpan) -> ObjectFileName? {
    if matches(stem, "%empty") { return .key(.string([])) }
    let prefixLength = stem.byteCount - hashLength
    if prefixLength >= 0, matches(stem.extracting(prefixLength..<prefixLength + 2), "%~") {
      // The prefix ends where the next character, of at most four bytes, would have exceeded the limit.
      guard (longestPrefix - 3...longestPrefix).contains(prefixLength),
        let digest = hexadecimal(stem.extracting((prefixLength + 2)...)),
        let prefix = unescape(stem.extracting(..<prefixLength), isWhole: false)
      else { return nil }
      return .hashed(prefix: prefix, digest: digest)
    }
    return unescape(stem).map { .key(.string($0)) }
  }

  /// Parses a decimal number without redundant characters.
  private static func integer(_ text: RawSpan) -> Int64? {
    let isNegative = byte(text, 0) == UInt8(ascii: "-")
    var index = isNegative ? 1 : 0
    guard index < text.byteCount else { return nil }
    let isSuperfluous = byte(text, index) == UInt8(ascii: "0") && (isNegative || text.byteCount > 1)
    if isSuperfluous { return nil }
    var value: Int64 = 0
    while index < text.byteCount {
      let digit = byte(text, index) &- UInt8(ascii: "0")
      guard digit <= 9 else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflow2) = product.addingReportingOverflow(isNegative ? -Int64(digit) : Int64(digit))
      if overflow || overflow2 { return nil }
      value = sum
      index += 1
    }
    return value
  }

  /// Returns the bytes; nil if they include an upper-case letter, which names of identifiers do not contain.
  private static func lowerCase(_ text: RawSpan) -> ArraySlice<UInt8>? {
    var bytes: [UInt8] = []
    for index in 0..<text.byteCount {
      let byte = byte(text, index)
      if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) { return nil }
      bytes.append(byte)
    }
    return bytes[...]
  }

  /// Parses up to 16 lower-case hexadecimal digits.
  private static func hexadecimal(_ text: RawSpan) -> UInt64? {
    var value: UInt64 = 0
    for index in 0..<text.byteCount {
      guard let digit = hexDigit(byte(text, index), upper: false) else { return nil }
      value = value << 4 | UInt64(digit)
    }
    return value
  }

  private static func hexDigit(_ character: UInt8, upper: Bool) -> UInt8? {
    let wrongCase = upper ? UInt8(ascii: "a")...UInt8(ascii: "f") : UInt8(ascii: "A")...UInt8(ascii: "F")
    return wrongCase.contains(character) ? nil : hexadecimalDigit(character)
  }

  private static func matches(_ text: RawSpan, _ literal: StaticString) -> Bool {
    guard text.byteCount == literal.utf8CodeUnitCount else { return false }
    return literal.withUTF8Buffer { expected in
      expected.indices.allSatisfy { unsafe byte(text, $0) == expected[$0] }
    }
  }

  private static func byte(_ text: RawSpan, _ index: Int) -> UInt8 {
    unsafe text.unsafeLoad(fromByteOffset: index, as: UInt8.self)
  }
}
