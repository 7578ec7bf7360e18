// Models as Codable types: what the compiler derives for a class of `@Persisted` properties needs these conformances.

extension Persisted: Decodable where Value: Decodable {
  /// Reads the value of an unmanaged object.
  public init(from decoder: any Decoder) throws {
    // In the container, strategies such as that of dates apply.
    state = .value(try decoder.singleValueContainer().decode(Value.self))
  }
}

extension Persisted: Encodable where Value: Encodable {
  /// Writes the value of an unmanaged object; throws for a managed one, whose storage has no value: implement
  /// `encode(to:)` for that.
  public func encode(to encoder: any Encoder) throws {
    var copy = self
    guard copy.holdsValue else {
      throw EncodingError.invalidValue(
        self,
        .init(
          codingPath: encoder.codingPath,
          debugDescription: "the derived encode(to:) is for unmanaged objects: implement encode(to:) for managed ones"
        )
      )
    }
    var container = encoder.singleValueContainer()
    try container.encode(copy.settle())
  }
}

extension KeyedDecodingContainer {
  /// An optional property that the text does not have is nil.
  public func decode<Value: Decodable & OptionalProtocol & ExpressibleByNilLiteral>(
    _ type: Persisted<Value>.Type,
    forKey key: Key
  ) throws -> Persisted<Value> {
    try decodeIfPresent(type, forKey: key) ?? Persisted(wrappedValue: nil)
  }
}

extension List: Decodable where Element: Decodable {
  /// Reads an array.
  public convenience init(from decoder: any Decoder) throws {
    self.init()
    append(objectsIn: try decoder.singleValueContainer().decode([Element].self))
  }
}

extension MutableSet: Decodable where Element: Decodable {
  /// Reads an array.
  public convenience init(from decoder: any Decoder) throws {
    self.init()
    insert(objectsIn: try decoder.singleValueContainer().decode([Element].self))
  }
}

extension Map: Decodable where Key: Decodable, Value: Decodable {
  /// Reads a dictionary.
  public convenience init(from decoder: any Decoder) throws {
    self.init()
    for (name, value) in try decoder.singleValueContainer().decode([String: Value].self) {
      updateValue(value, forKey: Key(_rlmKey: name))
    }
  }
}

extension Map: Encodable where Key: Encodable, Value: Encodable {
  /// Writes a dictionary.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    let entries = asKeyValueSequence().map { ($0.key._rlmKey, $0.value) }
    try container.encode(Dictionary(entries) { _, last in last })
  }
}

extension RealmCollection where Element: Encodable {
  /// Writes an array.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for element in self { try container.encode(element) }
  }
}

extension List: Encodable where Element: Encodable {}
extension MutableSet: Encodable where Element: Encodable {}
extension Results: Encodable where Element: Encodable {}
extension AnyRealmCollection: Encodable where Element: Encodable {}
extension LinkingObjects: Encodable where Element: Encodable {}
