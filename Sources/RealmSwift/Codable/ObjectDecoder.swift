// Decodes an object as a value of a `Decodable` type. Links are followed, so types may be nested. Cyclic links cause an
// error at a depth limit.

import Foundation
import RealmPages

/// An object of one version. Its properties are accessed by their stored names.
struct StoredObject {
  let snapshot: Snapshot
  let table: Table
  let key: ObjKey

  var className: String { table.className ?? table.name }

  /// Returns a copy of the value of a property; nil if the class has no such property. Takes O(log n).
  func value(_ name: String) throws -> Value? {
    guard let index = table.columns.firstIndex(where: { $0.name.isExactly(name) }) else { return nil }
    let cursor = ObjectCursor(table)
    return try cursor.seek(key) ? Value(copying: cursor.value(index)) : nil
  }

  /// Returns the object that a link refers to; nil for other values and for links to missing objects.
  static func linked(_ value: Value, in snapshot: Snapshot) throws -> StoredObject? {
    guard case .link(let table, let key) = value, let table = try snapshot.table(table), try table.contains(key) else {
      return nil
    }
    return StoredObject(snapshot: snapshot, table: table, key: key)
  }
}

/// A key in a coding path.
struct PathKey: CodingKey {
  let stringValue: String
  let intValue: Int?
  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
}

/// Decodes an object. Its property names are the keys.
struct ObjectDecoder: Decoder {
  let object: StoredObject
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private static let deepest = 100

  init(_ object: StoredObject, path: [any CodingKey] = []) throws {
    if path.count > Self.deepest {
      throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: "links lead in a circle"))
    }
    (self.object, codingPath) = (object, path)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    let object = object
    return KeyedDecodingContainer(
      KeyedValues<Key>(
        names: object.table.columns.map(\.name),
        snapshot: object.snapshot,
        codingPath: codingPath,
        value: { name in try object.value(name) ?? .null }
      )
    )
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw mismatch([Any].self) }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw mismatch(Any.self) }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "an object of class \(object.className)"))
  }
}

/// The entries of an object or a dictionary.
private struct KeyedValues<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let names: [String]
  let snapshot: Snapshot
  let codingPath: [any CodingKey]
  let value: (String) throws -> Value

  var allKeys: [Key] { names.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { names.contains(key.stringValue) }

  private func decoder(_ key: Key) throws -> ValueDecoder {
    guard contains(key) else {
      throw DecodingError.keyNotFound(
        key,
        .init(codingPath: codingPath, debugDescription: "no property \"\(key.stringValue)\"")
      )
    }
    return ValueDecoder(value: try value(key.stringValue), snapshot: snapshot, codingPath: codingPath + [key])
  }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type,
    forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }
  func superDecoder() throws -> any Decoder { try superDecoder(named: "super") }
  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

  private func superDecoder(named name: String) throws -> any Decoder {
    ValueDecoder(value: try value(name), snapshot: snapshot, codingPath: codingPath + [PathKey(stringValue: name)])
  }
}

/// Decodes one value.
private struct ValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: Value
  let snapshot: Snapshot
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    switch value {
    case .list(let values): Elements(values: values, snapshot: snapshot, codingPath: codingPath)
    // Foundation's `Data` decodes a sequence of bytes.
    case .data(let bytes): Elements(values: bytes.map { .int(Int64($0)) }, snapshot: snapshot, codingPath: codingPath)
    default: throw mismatch([Any].self)
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if case .dictionary(let entries) = value {
      let pairs = entries.map { (String(decoding: $0.key, as: UTF8.self), $0.value) }
      let values = Dictionary(pairs) { _, last in last }
      return KeyedDecodingContainer(
        KeyedValues<Key>(
          names: Array(values.keys),
          snapshot: snapshot,
          codingPath: codingPath,
          value: { values[$0] ?? .null }
        )
      )
    }
    guard let object = try StoredObject.linked(value, in: snapshot) else { throw mismatch([String: Any].self) }
    return try ObjectDecoder(object, path: codingPath).container(keyedBy: type)
  }

  func decodeNil() -> Bool { value == .null }

  func decode(_ type: Bool.Type) throws -> Bool { if case .bool(let truth) = value { truth } else { try fail(type) } }
  /// ObjectIds, UUIDs and decimals decode themselves from strings.
  func decode(_ type: String.Type) throws -> String {
    switch value {
    case .string(let bytes): String(decoding: bytes, as: UTF8.self)
    case .objectID(let id): id.description
    case .uuid(let id): id.description
    case .decimal128(let decimal): Decimal128(decimal).description
    default: try fail(type)
    }
  }
  /// `Date` decodes itself from the number of seconds since the start of 2001.
  func decode(_ type: Double.Type) throws -> Double {
    switch value {
    case .double(let number): number
    case .float(let number): Double(number)
    case .int(let number): try Double(exactly: number) ?? fail(type)
    case .date(let time): Date(time).timeIntervalSinceReferenceDate
    default: try fail(type)
    }
  }
  func decode(_ type: Float.Type) throws -> Float {
    switch value {
    case .float(let number): number
    case .double(let number): Float(number)
    default: try fail(type)
    }
  }
  func decode<T: Decodable & FixedWidthInteger>(_ type: T.Type) throws -> T {
    guard case .int(let number) = value else { return try fail(type) }
    guard let result = T(exactly: number) else {
      throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "\(number) is beyond \(type)"))
    }
    return result
  }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try T(from: self) }

  private func fail<T>(_ type: T.Type) throws -> T { throw mismatch(type) }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: "\(value) is not a \(type)")
    return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

/// The elements of a list or set.
private struct Elements: UnkeyedDecodingContainer {
  let values: [Value]
  let snapshot: Snapshot
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(values: [Value], snapshot: Snapshot, codingPath: [any CodingKey]) {
    (self.values, self.snapshot, self.codingPath) = (values, snapshot, codingPath)
  }

  var count: Int? { values.count }
  var isAtEnd: Bool { currentIndex == values.count }

  private mutating func next() throws -> ValueDecoder {
    let path = codingPath + [PathKey(intValue: currentIndex)]
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(Any.self, .init(codingPath: path, debugDescription: "no more elements"))
    }
    defer { currentIndex += 1 }
    return ValueDecoder(value: values[currentIndex], snapshot: snapshot, codingPath: path)
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, values[currentIndex] == .null else { return false }
    currentIndex += 1
    return true
  }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try T(from: next()) }
  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try next().container(keyedBy: type)
  }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
  mutating func superDecoder() throws -> any Decoder { try next() }
}
