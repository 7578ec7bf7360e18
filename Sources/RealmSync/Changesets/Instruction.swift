// The instructions of a Realm Sync changeset. They refer to classes, properties and objects by names and primary keys,
// never by the keys of one file. Source: docs/format/7-sync.md 7.6.

public import RealmPages

/// The index of a name in a changeset. Names are class names without `class_`, property names, string keys of objects,
/// and keys of dictionaries in paths.
public struct NameIndex: Hashable, Sendable {
  /// The index, from 0, in the order in which the changeset introduces its names.
  public let value: Int

  /// Creates an index.
  public init(_ value: Int) { self.value = value }
}

/// One instruction of a changeset.
public enum Instruction: Hashable, Sendable {
  /// Introduces the next name; it must precede the first use of the name.
  case name(NameIndex, [UInt8])
  case addTable(NameIndex, TableForm)
  case eraseTable(NameIndex)
  case createObject(NameIndex, InstructionKey)
  case eraseObject(NameIndex, InstructionKey)
  case addColumn(NameIndex, PropertyForm)
  case eraseColumn(NameIndex, NameIndex)
  /// Changes a property of an object, or a value inside it.
  case edit(Place, Edit)

  /// The kind of a class, with its primary key.
  public enum TableForm: Hashable, Sendable {
    case embedded
    case topLevel(primaryKey: PrimaryKeyForm, isAsymmetric: Bool)
  }

  /// The primary key of a class. A class without a primary key has an empty name and no type.
  public struct PrimaryKeyForm: Hashable, Sendable {
    /// The name of the property.
    public var name: NameIndex
    /// The type of the key; nil if there is no primary key.
    public var type: ValueType?
    /// True if null is a legal key.
    public var isNullable: Bool

    /// Creates a primary key, or the absence of one if `type` is nil.
    public init(name: NameIndex, type: ValueType?, isNullable: Bool) {
      (self.name, self.type, self.isNullable) = (name, type, isNullable)
    }
  }

  /// A property to be added.
  public struct PropertyForm: Hashable, Sendable {
    /// The name of the property.
    public var name: NameIndex
    /// The type of the value, or of the elements.
    public var type: ValueType
    /// The kind of collection; nil for a single value.
    public var collection: CollectionKind?
    /// True if null is a legal value or element.
    public var isNullable: Bool
    /// The class that links point to; nil for other types.
    public var target: NameIndex?

    /// Creates a property.
    public init(
      name: NameIndex,
      type: ValueType,
      collection: CollectionKind?,
      isNullable: Bool,
      target: NameIndex?
    ) {
      (self.name, self.type, self.collection) = (name, type, collection)
      (self.isNullable, self.target) = (isNullable, target)
    }
  }

  /// The location that an edit changes: a property of an object, and a path from there.
  public struct Place: Hashable, Sendable {
    /// The class.
    public var table: NameIndex
    /// The object; embedded objects are addressed through the object that owns them.
    public var key: InstructionKey
    /// The property of that object.
    public var field: NameIndex
    /// Elements of lists, keys of dictionaries, properties of embedded objects.
    public var path: [Step]

    /// Creates a place: a property, or a value inside it.
    public init(table: NameIndex, key: InstructionKey, field: NameIndex, path: [Step] = []) {
      (self.table, self.key, self.field, self.path) = (table, key, field, path)
    }

    /// The index that the path ends in; nil if it ends in a name or is empty.
    public var lastIndex: UInt32? { if case .index(let index) = path.last { index } else { nil } }
  }

  /// A step of a path.
  public enum Step: Hashable, Sendable {
    case index(UInt32)
    case name(NameIndex)
  }

  /// The operation at a place. `prior` is the size of the list before it.
  public enum Edit: Hashable, Sendable {
    case update(Payload, isDefault: Bool)
    case updateElement(Payload, prior: UInt32)
    case addInteger(Int64)
    case insert(Payload, prior: UInt32)
    case move(to: UInt32, prior: UInt32)
    case erase(prior: UInt32)
    case clear(ClearedKind)
    case setInsert(Payload)
    case setErase(Payload)
  }

  /// The kind of collection after a `clear`; `single` is sent by clients older than protocol version 13.
  public enum ClearedKind: Int64, Hashable, Sendable { case single, list, dictionary, set }

  /// A value, or the kind of value to create.
  public enum Payload: Hashable, Sendable {
    /// A scalar: never a link or a collection.
    case scalar(Value)
    case link(NameIndex, InstructionKey)
    /// An embedded object with default values.
    case object
    /// An empty list in a Mixed.
    case list
    /// An empty dictionary in a Mixed.
    case dictionary
    /// The removal of an entry of a dictionary.
    case erased
  }
}

/// The identity of an object within its class.
public enum InstructionKey: Hashable, Sendable {
  case null
  case int(Int64)
  case string(NameIndex)
  case objectID(ObjectID)
  case uuid(UniqueID)
  /// The key in a class without a primary key: the client file that created the object, and a number.
  case global(high: UInt64, low: UInt64)
}

/// The codes of value types. Source: docs/format/7-sync.md 7.6.
enum PayloadCode {
  static let list: Int64 = -5, erased: Int64 = -4, dictionary: Int64 = -3, object: Int64 = -2, global: Int64 = -1
  static let null: Int64 = 0, int: Int64 = 1, bool: Int64 = 2, string: Int64 = 3, data: Int64 = 4, date: Int64 = 5
  static let float: Int64 = 6, double: Int64 = 7, decimal128: Int64 = 8, link: Int64 = 9, objectID: Int64 = 10
  static let uuid: Int64 = 11

  /// As the type of a property, null means Mixed.
  static let types: [(code: Int64, type: ValueType)] = [
    (null, .mixed), (int, .int), (bool, .bool), (string, .string), (data, .data), (date, .date), (float, .float),
    (double, .double), (decimal128, .decimal128), (link, .link), (objectID, .objectID), (uuid, .uuid),
  ]

  static func type(_ code: Int64) -> ValueType? { types.first { $0.code == code }?.type }
  static func code(of type: ValueType) -> Int64 { types.first { $0.type == type }?.code ?? 0 }
}

/// The code at the start of an instruction.
enum InstructionCode: Int64 {
  case addTable, eraseTable, createObject, eraseObject, update, addInteger, addColumn, eraseColumn
  case insert, move, erase, clear, setInsert, setErase
  case name = 0x3f
}

extension Decimal128 {
  private static let exponentShift: UInt64 = 49
  private static let bias: Int64 = 6176

  /// The parts as stored in a changeset: 113 bits of coefficient, the exponent and the sign.
  var parts: (high: UInt64, low: UInt64, exponent: Int64, isNegative: Bool) {
    (
      high & (1 << Self.exponentShift - 1), low, Int64(high >> Self.exponentShift & 0x3fff) - Self.bias,
      high >> 63 != 0
    )
  }

  /// Creates a decimal from these parts; nil if they are out of range.
  init?(high: UInt64, low: UInt64, exponent: Int64, isNegative: Bool) {
    guard high < 1 << Self.exponentShift, exponent >= -Self.bias, exponent <= 0x3fff - Self.bias else { return nil }
    let biased = UInt64(exponent + Self.bias) << Self.exponentShift
    self.init(low: low, high: high | biased | (isNegative ? 1 << 63 : 0))
  }
}
