// Parses JSON into scalar values, bare or in Extended JSON. docs/COMMANDS.md has the table of notations.
// All rendered text, in any style, can be read back.

package import RealmPages

extension JSONText {
  /// The only member of an object that names a type: the name without `$`, and the value.
  struct Wrapper {
    let name: String
    let value: Int
  }

  /// Returns the wrapper if the only member of an object has a name that begins with `$`.
  func wrapper(_ node: Int) -> Wrapper? {
    guard kind(node) == .object, count(node) == 1, let (name, value) = members(node).first(where: { _ in true }),
      content(name).first == UInt8(ascii: "$")
    else { return nil }
    return Wrapper(name: String(decoding: content(name).dropFirst(), as: UTF8.self), value: value)
  }

  /// Returns the value of `{"$name": value}`; nil if the node is something else.
  private func unwrapped(_ node: Int, _ name: String) -> Int? {
    guard let wrapper = wrapper(node), wrapper.name == name else { return nil }
    return wrapper.value
  }

  /// Returns a description of the value, for a message.
  func describe(_ node: Int) -> String {
    switch kind(node) {
    case .null: "null"
    case .true, .false: kind(node) == .true ? "true" : "false"
    case .number: "the number \(shown(node))"
    case .plainString, .decodedString: "the string \"\(shown(node))\""
    case .array: "an array"
    case .object: wrapper(node).map { "{\"$\($0.name)\": ..}" } ?? "an object"
    }
  }

  /// Returns an error that states the expected value.
  func mismatch(_ node: Int, _ expected: String) -> InputError {
    error(.wrongType, at: node, "expected \(expected), found \(describe(node))")
  }

  /// Returns a description of a valid value of a type, for messages.
  package static func example(of type: ValueType) -> String {
    switch type {
    case .int: "a whole number"
    case .bool: "true or false"
    case .string: "a string"
    case .data: "base64 text"
    case .date: "a date like \"2024-05-01T10:00:00Z\""
    case .float, .double: "a number"
    case .decimal128: "a decimal number like \"1.10\""
    case .objectID: "24 hexadecimal digits"
    case .uuid: "a UUID like \"01234567-89ab-cdef-0123-456789abcdef\""
    case .mixed: "any value"
    case .link: "an object"
    }
  }

  /// Returns the value of a typed property or element; not for null, Mixed and links.
  func scalar(_ node: Int, as type: ValueType) throws(InputError) -> Value {
    switch type {
    case .int: return .int(try int(node))
    case .bool:
      switch kind(node) {
      case .true: return .bool(true)
      case .false: return .bool(false)
      default: throw mismatch(node, Self.example(of: type))
      }
    case .float: return .float(try float(node))
    case .double: return .double(try double(node))
    case .string:
      guard let bytes = try string(node) else { throw mismatch(node, Self.example(of: type)) }
      return .string(bytes)
    case .data: return .data(try data(node))
    case .date: return .date(try date(node))
    case .decimal128: return .decimal128(try decimal(node))
    case .objectID:
      let text = unwrapped(node, "oid") ?? node
      guard isString(text), let id = ObjectID(text: content(text)) else {
        throw mismatch(node, Self.example(of: type))
      }
      return .objectID(id)
    case .uuid: return .uuid(try uuid(node))
    case .mixed, .link: throw mismatch(node, Self.example(of: type))
    }
  }

  // MARK: numbers

  private static let numberWrappers = ["numberInt", "numberLong", "numberDouble", "numberFloat", "numberDecimal"]

  /// Returns the node with the text of a number, bare or in a wrapper; nil if the node is not a number.
  private func numberNode(_ node: Int) -> Int? {
    if kind(node) == .number { return node }
    guard let wrapper = wrapper(node), Self.numberWrappers.contains(wrapper.name),
      isString(wrapper.value) || kind(wrapper.value) == .number
    else { return nil }
    return wrapper.value
  }

  private func int(_ node: Int) throws(InputError) -> Int64 {
    if let range = bareNumber(node), let value = ShortNumber.integer(bytes, range) { return value }
    guard let text = numberNode(node), let number = NumberText(content(text)) else {
      throw mismatch(node, Self.example(of: .int))
    }
    switch number.integer {
    case .value(let value): return value
    case .fraction: throw mismatch(node, Self.example(of: .int))
    case .outOfRange:
      throw error(.outOfRange, at: node, "\(shown(text)) is not from \(Int64.min) to \(Int64.max)")
    }
  }

  /// Returns the range of a bare number; nil for any other value.
  @inline(__always)
  private func bareNumber(_ node: Int) -> Range<Int>? {
    guard nodes[node].kind == .number else { return nil }
    let start = Int(nodes[node].content)
    return start..<start + Int(nodes[node].length)
  }

  private func double(_ node: Int) throws(InputError) -> Double {
    if let range = bareNumber(node), let value = ShortNumber.real(bytes, range) { return value }
    return try real(node) { Double($0) }
  }

  private func float(_ node: Int) throws(InputError) -> Float {
    try real(node) { Float($0) }
  }

  private func real<T: BinaryFloatingPoint>(_ node: Int, _ parse: (String) -> T?) throws(InputError) -> T {
    guard let text = numberNode(node) else { throw mismatch(node, Self.example(of: .double)) }
    let content = content(text)
    if isString(text) {
      switch String(decoding: content.prefix(16), as: UTF8.self) {
      case "NaN", "nan", "-NaN": return .nan
      case "Infinity", "+Infinity", "Inf", "+Inf": return .infinity
      case "-Infinity", "-Inf": return -.infinity
      default: break
      }
    }
    guard NumberText(content) != nil, let value = parse(String(decoding: content, as: UTF8.self)) else {
      throw mismatch(node, Self.example(of: .double))
    }
    if !value.isFinite { throw error(.outOfRange, at: node, "\(shown(text)) is too large for the type") }
    return value
  }

  private func decimal(_ node: Int) throws(InputError) -> Decimal128 {
    guard let text = isString(node) ? node : numberNode(node) else {
      throw mismatch(node, Self.example(of: .decimal128))
    }
    let content = content(text)
    if isString(text) {
      switch String(decoding: content.prefix(16), as: UTF8.self) {
      case "NaN", "nan", "+NaN": return Decimal128(low: 0, high: 0x7C00 << 48)
      case "-NaN": return Decimal128(low: 0, high: 0xFC00 << 48)
      case "Inf", "Infinity", "+Inf", "+Infinity": return Decimal128(low: 0, high: 0x7800 << 48)
      case "-Inf", "-Infinity": return Decimal128(low: 0, high: 0xF800 << 48)
      default: break
      }
    }
    guard let number = NumberText(content) else { throw mismatch(node, Self.example(of: .decimal128)) }
    guard let value = number.decimal else {
      throw error(.outOfRange, at: node, "\(shown(text)) has more than 34 digits or too large an exponent")
    }
    return value
  }

  // MARK: strings

  /// Returns the bytes of a string; nil if the node is not a string.
  func string(_ node: Int) throws(InputError) -> [UInt8]? {
    if isString(node) { return Array(content(node)) }
    guard let value = unwrapped(node, "invalidString") else { return nil }
    guard count(value) == 1, let text = member("base64", of: value), isString(text),
      let bytes = decodedBase64(content(text))
    else { throw mismatch(node, "{\"$invalidString\": {\"base64\": ..}}") }
    return bytes
  }

  private func data(_ node: Int) throws(InputError) -> [UInt8] {
    if isString(node), let bytes = decodedBase64(content(node)) { return bytes }
    guard let (bytes, subtype) = binary(node), subtype == 0 else {
      throw mismatch(node, Self.example(of: .data))
    }
    return bytes
  }

  /// Returns the bytes and subtype of `{"$binary": {"base64": .., "subType": ".."}}`; nil for anything else.
  private func binary(_ node: Int) -> (bytes: [UInt8], subtype: Int)? {
    guard let value = unwrapped(node, "binary"), kind(value) == .object,
      let text = member("base64", of: value), isString(text), let bytes = decodedBase64(content(text))
    else { return nil }
    guard let type = member("subType", of: value) else { return count(value) == 1 ? (bytes, 0) : nil }
    guard count(value) == 2, isString(type), content(type).count <= 2,
      let subtype = Int(String(decoding: content(type), as: UTF8.self), radix: 16)
    else { return nil }
    return (bytes, subtype)
  }

  private func uuid(_ node: Int) throws(InputError) -> UniqueID {
    if let (bytes, subtype) = binary(node), subtype == 4, let id = UniqueID(bytes: bytes) { return id }
    let text = unwrapped(node, "uuid") ?? node
    guard isString(text), let id = UniqueID(text: content(text)) else {
      throw mismatch(node, Self.example(of: .uuid))
    }
    return id
  }

  // MARK: dates

  private func date(_ node: Int) throws(InputError) -> Timestamp {
    let value = unwrapped(node, "date") ?? node
    if isString(value) {
      guard let date = Timestamp(text: content(value)) else { throw mismatch(node, Self.example(of: .date)) }
      return date
    }
    if value == node { throw mismatch(node, Self.example(of: .date)) }
    if let seconds = member("seconds", of: value), let nanoseconds = member("nanoseconds", of: value),
      count(value) == 2
    {
      return try storedDate(seconds, nanoseconds)
    }
    return Timestamp(milliseconds: try int(value))
  }

  private func storedDate(_ first: Int, _ second: Int) throws(InputError) -> Timestamp {
    func part(_ node: Int) throws(InputError) -> Int64 {
      guard isString(node) else { return try int(node) }
      guard let number = NumberText(content(node)) else { throw mismatch(node, Self.example(of: .int)) }
      guard case .value(let value) = number.integer else {
        throw error(.outOfRange, at: node, "\(shown(node)) is not a whole number of 64 bits")
      }
      return value
    }
    let seconds = try part(first), nanoseconds = try part(second)
    if nanoseconds.magnitude >= 1_000_000_000 || seconds > 0 && nanoseconds < 0 || seconds < 0 && nanoseconds > 0 {
      throw error(.outOfRange, at: second, "nanoseconds that do not fit the seconds: below 10^9, with the same sign")
    }
    return Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))
  }

  // MARK: values that include their type

  /// Returns the scalar for a Mixed; nil for arrays, dictionaries and links.
  func untyped(_ node: Int) throws(InputError) -> Value? {
    switch kind(node) {
    case .null: return .null
    case .true: return .bool(true)
    case .false: return .bool(false)
    case .plainString, .decodedString: return .string(Array(content(node)))
    case .number: return try untypedNumber(node)
    case .array: return nil
    case .object: break
    }
    guard let wrapper = wrapper(node) else { return nil }
    switch wrapper.name {
    case "numberInt", "numberLong": return try scalar(node, as: .int)
    case "numberDouble": return try scalar(node, as: .double)
    case "numberFloat": return try scalar(node, as: .float)
    case "numberDecimal": return try scalar(node, as: .decimal128)
    case "binary": return try binary(node)?.subtype == 4 ? scalar(node, as: .uuid) : scalar(node, as: .data)
    case "date": return try scalar(node, as: .date)
    case "oid": return try scalar(node, as: .objectID)
    case "uuid": return try scalar(node, as: .uuid)
    case "invalidString": return try scalar(node, as: .string)
    default: return nil
    }
  }

  /// Returns the value of a bare number in a Mixed: a double if it has a point or an exponent, otherwise an integer.
  private func untypedNumber(_ node: Int) throws(InputError) -> Value {
    let isReal = content(node).contains { byte in
      byte == UInt8(ascii: ".") || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
    }
    return try scalar(node, as: isReal ? .double : .int)
  }
}
