// Encodes a value of an `Encodable` type as a draft: a tree of plain values, which a transaction then fits to the
// schema.

import Foundation
import RealmPages

/// An encoded value that has not been saved yet.
final class EncodedValue {
  enum Content {
    case null
    case bool(Bool)
    case int(Int64)
    case real(Double)
    case text(String)
    case list([EncodedValue])
    /// A list that contains only bytes, as encoded by Foundation's `Data`.
    case bytes([UInt8])
    case object([(name: String, value: EncodedValue)])
  }

  var content = Content.null

  /// Encodes a value as a draft.
  init<T: Encodable>(of value: T) throws { try value.encode(to: DraftEncoder(draft: self, codingPath: [])) }

  init() {}

  func entry(_ name: String) -> EncodedValue {
    let child = EncodedValue()
    var entries: [(name: String, value: EncodedValue)] = []
    if case .object(let former) = content { entries = former }
    // Releases the array, so that appending does not copy it.
    content = .null
    entries.append((name, child))
    content = .object(entries)
    return child
  }

  func element() -> EncodedValue {
    let child = EncodedValue()
    var elements = elements ?? []
    // As in `entry`.
    content = .null
    elements.append(child)
    content = .list(elements)
    return child
  }

  func append(_ byte: UInt8) {
    switch content {
    case .bytes(var bytes):
      content = .null
      bytes.append(byte)
      content = .bytes(bytes)
    case .list(let elements) where elements.isEmpty: content = .bytes([byte])
    default: element().content = .int(Int64(byte))
    }
  }

  /// The elements of a list, each as a draft; nil if this is not a list.
  var elements: [EncodedValue]? {
    switch content {
    case .list(let elements): elements
    case .bytes(let bytes):
      bytes.map { byte in
        let draft = EncodedValue()
        draft.content = .int(Int64(byte))
        return draft
      }
    default: nil
    }
  }

  var isNull: Bool { if case .null = content { true } else { false } }

  var count: Int {
    switch content {
    case .list(let elements): elements.count
    case .bytes(let bytes): bytes.count
    default: 0
    }
  }

  func fill<T: Encodable>(_ value: T, _ path: [any CodingKey]) throws {
    try value.encode(to: DraftEncoder(draft: self, codingPath: path))
  }
}

private struct DraftEncoder: Encoder, SingleValueEncodingContainer {
  let draft: EncodedValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .object = draft.content {} else { draft.content = .object([]) }
    return KeyedEncodingContainer(Entries<Key>(draft: draft, codingPath: codingPath))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if draft.elements == nil { draft.content = .list([]) }
    return DraftElements(draft: draft, codingPath: codingPath)
  }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() { draft.content = .null }
  func encode(_ value: Bool) { draft.content = .bool(value) }
  func encode(_ value: String) { draft.content = .text(value) }
  func encode(_ value: Double) { draft.content = .real(value) }
  func encode(_ value: Float) { draft.content = .real(Double(value)) }
  func encode<T: Encodable & FixedWidthInteger>(_ value: T) throws {
    guard let number = Int64(exactly: value) else {
      throw EncodingError.invalidValue(
        value,
        .init(codingPath: codingPath, debugDescription: "integers of a realm have 64 bits and a sign")
      )
    }
    draft.content = .int(number)
  }
  func encode<T: Encodable>(_ value: T) throws { try draft.fill(value, codingPath) }
}

private struct Entries<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let draft: EncodedValue
  let codingPath: [any CodingKey]

  private func encoder(_ key: any CodingKey) -> DraftEncoder {
    DraftEncoder(draft: draft.entry(key.stringValue), codingPath: codingPath + [key])
  }

  func encodeNil(forKey key: Key) { encoder(key).encodeNil() }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try encoder(key).encode(value) }
  // A nil value is stored as null instead of being left unchanged. The protocol has a separate function for each type.
  func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOrNil(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOrNil(value, key) }
  private func encodeOrNil<T: Encodable>(_ value: T?, _ key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested>
  {
    encoder(key).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder(key).unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder(PathKey(stringValue: "super")) }
  func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
}

private struct DraftElements: UnkeyedEncodingContainer {
  let draft: EncodedValue
  let codingPath: [any CodingKey]

  var count: Int { draft.count }

  private func next() -> DraftEncoder {
    DraftEncoder(draft: draft.element(), codingPath: codingPath + [PathKey(intValue: count)])
  }

  func encodeNil() { next().encodeNil() }
  func encode(_ value: UInt8) { draft.append(value) }
  func encode<T: Encodable>(_ value: T) throws { try next().encode(value) }
  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    next().container(keyedBy: type)
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
  func superEncoder() -> any Encoder { next() }
}

extension EncodedValue {
  /// Returns the draft as a value of `type`; nil if it cannot be converted.
  func value(as type: ValueType) -> Value? {
    switch (type, content) {
    case (_, .null): .null
    case (.int, .int(let value)): .int(value)
    case (.bool, .bool(let value)): .bool(value)
    case (.double, .real(let value)): .double(value)
    case (.double, .int(let value)): Double(exactly: value).map { .double($0) }
    case (.float, .real(let value)): .float(Float(value))
    case (.string, .text(let text)): .text(text)
    case (.objectID, .text(let text)): ObjectID(text).map { .objectID($0) }
    case (.uuid, .text(let text)): UniqueID(text).map { .uuid($0) }
    // Nil for text that is not a number; the caller reports it as a value of another type.
    case (.decimal128, .text(let text)): (try? Decimal128(string: text)).map { .decimal128($0.decimal) }
    case (.decimal128, .int(let value)): .decimal128(Decimal128(value).decimal)
    case (.date, .real(let time)): .date(Date(timeIntervalSinceReferenceDate: time).timestamp)
    case (.data, .bytes(let bytes)): .data(bytes)
    case (.data, .list(let elements)): Self.bytes(elements).map { .data($0) }
    default: nil
    }
  }

  private static func bytes(_ elements: [EncodedValue]) -> [UInt8]? {
    let bytes = elements.compactMap { element -> UInt8? in
      if case .int(let value) = element.content { UInt8(exactly: value) } else { nil }
    }
    return bytes.count == elements.count ? bytes : nil
  }

  /// The draft as a Mixed value, without conversion.
  var mixed: Value {
    switch content {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .real(let value): .double(value)
    case .text(let text): .text(text)
    case .list(let elements): .list(elements.map(\.mixed))
    case .bytes(let bytes): .list(bytes.map { .int(Int64($0)) })
    case .object(let entries): .dictionary(entries.map { Value.Entry(key: Array($0.name.utf8), value: $0.value.mixed) })
    }
  }
}
