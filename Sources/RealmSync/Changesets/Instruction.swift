// What a changeset of Realm Sync consists of: instructions that name classes, properties and objects by names and
// primary keys, never by the keys of one file. Source: docs/format/7-sync.md 7.6.

public import RealmPages

/// The place of a name among the names of a changeset. Names are class names without `class_`, property names, string
/// keys of objects, and keys of dictionaries in paths.
public struct NameIndex: Hashable, Sendable {
  /// From 0, in the order in which the changeset introduces its names.
  public let value: Int

  /// Wraps an index.
  public init(_ value: Int) { self.value = value }
}

/// One instruction of a changeset.
public enum Instruction: Hashable, Sendable {
  /// Introduces the next name; it has to come before the first use.
  case name(NameIndex, [UInt8])
  case addTable(NameIndex, TableForm)
  case eraseTable(NameIndex)
  case createObject(NameIndex, InstructionKey)
  case eraseObject(NameIndex, InstructionKey)
  case addColumn(NameIndex, ColumnForm)
  case eraseColumn(NameIndex, NameIndex)
  /// Changes a property of an object, or something in it.
  case edit(Place, Edit)

  /// Kinds of classes; the primary key is the property's name, its type and whether it can be null.
  public enum TableForm: Hashable, Sendable {
    case embedded
    case topLevel(primaryKey: PrimaryKeyForm, isAsymmetric: Bool)
  }

  /// The primary key of a class. A class without one has an empty name and no type.
  public struct PrimaryKeyForm: Hashable, Sendable {
    /// The property.
    public var name: NameIndex
    /// Nil: no primary key.
    public var type: ValueType?
    /// Whether null is a legal key.
    public var isNullable: Bool

    /// A primary key, or none where `type` is nil.
    public init(name: NameIndex, type: ValueType?, isNullable: Bool) {
      (self.name, self.type, self.isNullable) = (name, type, isNullable)
    }
  }

  /// A property to be added.
  public struct ColumnForm: Hashable, Sendable {
    /// The property.
    public var name: NameIndex
    /// The type of the value, or of the elements.
    public var type: ValueType
    /// Nil for one value.
    public var collection: CollectionKind?
    /// Whether null is a legal value or element.
    public var isNullable: Bool
    /// The class that links lead to; nil for other types.
    public var target: NameIndex?

    /// A property.
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

  /// What an edit changes: a property of an object, and steps from there into what it holds.
  public struct Place: Hashable, Sendable {
    /// The class.
    public var table: NameIndex
    /// The object; embedded objects are addressed through the object that owns them.
    public var key: InstructionKey
    /// The property of that object.
    public var field: NameIndex
    /// Elements of lists, keys of dictionaries, properties of embedded objects.
    public var path: [Step]

    /// A property, or something in it.
    public init(table: NameIndex, key: InstructionKey, field: NameIndex, path: [Step] = []) {
      (self.table, self.key, self.field, self.path) = (table, key, field, path)
    }

    /// The element that the path ends in; nil if it ends in a name or is empty.
    public var lastIndex: UInt32? { if case .index(let index) = path.last { index } else { nil } }
  }

  /// A step of a path.
  public enum Step: Hashable, Sendable {
    case index(UInt32)
    case name(NameIndex)
  }

  /// What is done at a place. `prior` is the size of the list before.
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

  /// The kind of collection that a `clear` leaves; `single` from clients older than protocol version 13.
  public enum ClearedKind: Int64, Hashable, Sendable { case single, list, dictionary, set }

  /// A value, or what a value is to become.
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
    /// An entry of a dictionary goes.
    case erased
  }
}

/// What names an object within its class.
public enum InstructionKey: Hashable, Sendable {
  case null
  case int(Int64)
  case string(NameIndex)
  case objectID(ObjectID)
  case uuid(UniqueID)
  /// Of a class without primary key: the client file that made the object, and a number.
  case global(high: UInt64, low: UInt64)
}

/// The codes of types of values. Source: docs/format/7-sync.md 7.6.
enum PayloadCode {
  static let list: Int64 = -5, erased: Int64 = -4, dictionary: Int64 = -3, object: Int64 = -2, global: Int64 = -1
  static let null: Int64 = 0, int: Int64 = 1, bool: Int64 = 2, string: Int64 = 3, data: Int64 = 4, date: Int64 = 5
  static let float: Int64 = 6, double: Int64 = 7, decimal128: Int64 = 8, link: Int64 = 9, objectID: Int64 = 10
  static let uuid: Int64 = 11

  /// As the type of a property, null stands for Mixed.
  static let types: [(code: Int64, type: ValueType)] = [
    (null, .mixed), (int, .int), (bool, .bool), (string, .string), (data, .data), (date, .date), (float, .float),
    (double, .double), (decimal128, .decimal128), (link, .link), (objectID, .objectID), (uuid, .uuid),
  ]

  static func type(_ code: Int64) -> ValueType? { types.first { $0.code == code }?.type }
  static func code(of type: ValueType) -> Int64 { types.first { $0.type == type }?.code ?? 0 }
}

/// The first number of an instruction.
enum InstructionCode: Int64 {
  case addTable, eraseTable, createObject, eraseObject, update, addInteger, addColumn, eraseColumn
  case insert, move, erase, clear, setInsert, setErase
  case name = 0x3f
}

extension Decimal128 {
  private static let exponentShift: UInt64 = 49
  private static let bias: Int64 = 6176

  /// The parts that a changeset has: 113 bits of coefficient, the exponent, the sign.
  var parts: (high: UInt64, low: UInt64, exponent: Int64, isNegative: Bool) {
    (
      high & (1 << Self.exponentShift - 1), low, Int64(high >> Self.exponentShift & 0x3fff) - Self.bias,
      high >> 63 != 0
    )
  }

  /// From these parts; nil if they do not fit.
  init?(high: UInt64, low: UInt64, exponent: Int64, isNegative: Bool) {
    guard high < 1 << Self.exponentShift, exponent >= -Self.bias, exponent <= 0x3fff - Self.bias else { return nil }
    let biased = UInt64(exponent + Self.bias) << Self.exponentShift
    self.init(low: low, high: high | biased | (isNegative ? 1 << 63 : 0))
  }
}
