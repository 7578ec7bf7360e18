// `Codable` conformances that let the compiler derive coding for classes with `@Persisted` properties.

extension Persisted: Decodable where Value: Decodable {
  /// Decodes the value of an unmanaged object.
  public init(from decoder: any Decoder) throws {
    // Decodes through the container, so that the decoder's strategies apply, for example for dates.
    state = .value(try decoder.singleValueContainer().decode(Value.self))
  }
}

extension Persisted: Encodable where Value: Encodable {
  /// Encodes the value of an unmanaged object. Throws for a managed object, whose storage does not hold the value; its
  /// class must implement `encode(to:)` itself.
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
  /// Decodes an optional property as nil if its key is absent.
  public func decode<Value: Decodable & OptionalProtocol & ExpressibleByNilLiteral>(
    _ type: Persisted<Value>.Type,
    forKey key: Key
  ) throws -> Persisted<Value> {
    try decodeIfPresent(type, forKey: key) ?? Persisted(wrappedValue: nil)
  }
}

extension List: Decodable where Element: Decodable {
  /// Decodes an array.
  public convenience init(from decoder: any Decoder) throws {
    self.init()
    append(objectsIn: try decoder.singleValueContainer().decode([Element].self))
  }
}

extension MutableSet: Decodable where Element: Decodable {
  /// Decodes an array.
  public convenience init(from decoder: any Decoder) throws {
    self.init()
    insert(objectsIn: try decoder.singleValueContainer().decode([Element].self))
  }
}

extension Map: Decodable where Key: Decodable, Value: Decodable {
  /// Decodes a dictionary.
  public convenience init(from decoder: any Decoder) throws {
    self.init()
    for (name, value) in try decoder.singleValueContainer().decode([String: Value].self) {
      updateValue(value, forKey: Key(_rlmKey: name))
    }
  }
}

extension Map: Encodable where Key: Encodable, Value: Encodable {
  /// Encodes a dictionary.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    let entries = asKeyValueSequence().map { ($0.key._rlmKey, $0.value) }
    try container.encode(Dictionary(entries) { _, last in last })
  }
}

extension RealmCollection where Element: Encodable {
  /// Encodes an array.
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
