// The schema that a model class declares: its properties in declaration order, found once by reflection.

@_spi(Reflection) import Swift
import RealmPages
import Synchronization

/// A property of a model class.
struct ModelProperty: @unchecked Sendable {
  // Unchecked: metatypes, and the function stored in `type`, are immutable.
  /// The name in the class.
  let name: String
  /// The name in the realm.
  let storedName: String
  /// The offset of the storage in the object.
  let offset: Int
  let storageType: any PropertyStorage.Type
  let type: _PropertyType
  var isPrimaryKey: Bool
  var isIndexed: Bool
  /// The name of the property in the linking class, for linking objects.
  let originProperty: String?

  /// The name of the target class of a link, for a property without a model.
  var targetName: String?

  /// The model of the target class of a link.
  var linkedClass: ClassSchema? { targetName == nil ? type.linkedClass.map { ClassSchema.of($0.type) } : nil }

  /// The name of that class. Does not inspect its properties, which may refer back to this class.
  var linkedName: String? {
    targetName ?? type.linkedClass.map { $0.type._realmObjectName() ?? String(describing: $0.type) }
  }

  /// True if the property is a column of the table.
  var isStored: Bool { !type.isLinkingObjects }

  func hasSameColumn(as other: ModelProperty) -> Bool {
    type.type == other.type.type && type.collection == other.type.collection && isPrimaryKey == other.isPrimaryKey
      && type.isOptional == other.type.isOptional && linkedName == other.linkedName
  }

  var storage: StorageAccess { StorageAccess(property: self) }

  struct StorageAccess {
    let property: ModelProperty

    func anyValue(of object: ObjectBase, _ index: Int) -> Any? {
      if object.context == nil { return property.storageType.plainAny(of: object, at: property.offset) }
      return property.storageType.managedValue(PropertyPlace(object, index))
    }

    func setAny(_ value: Any?, of object: ObjectBase, _ index: Int) -> Bool {
      if object.context == nil { return property.storageType.setPlain(value, of: object, at: property.offset) }
      return property.storageType.setManaged(value, PropertyPlace(object, index))
    }
  }
}

/// A model class, or a class as a file has it.
final class ClassSchema: Sendable {
  let reference: ClassReference
  /// The name in the realm.
  let name: String
  let kind: TableKind
  let properties: [ModelProperty]
  /// The offsets of the property storages in an object.
  let offsets: [Int]
  let primaryKeyIndex: Int?
  private let unknownNames: Set<String>
  private let indexes: [String: Int]

  var type: ObjectBase.Type { reference.type }
  var isEmbedded: Bool { kind == .embedded }
  /// True if the schema comes from a file: all objects are dynamic.
  var isDynamic: Bool { type == DynamicObject.self }
  var primaryKey: ModelProperty? { primaryKeyIndex.map { properties[$0] } }

  /// Returns the index of the property with this name, in the class or in the realm.
  func index(of name: String) -> Int? { indexes[name] }

  private static let known = Mutex<[ObjectIdentifier: ClassSchema]>([:])

  static func of(_ type: ObjectBase.Type) -> ClassSchema {
    if let schema = known.withLock({ $0[ObjectIdentifier(type)] }) { return schema }
    let schema = ClassSchema(type)
    // Another thread may have added the schema in the meantime; the first one is kept.
    return known.withLock { known in
      if let first = known[ObjectIdentifier(type)] { return first }
      known[ObjectIdentifier(type)] = schema
      return schema
    }
  }

  private static let classNameLimit = 57
  private static let propertyNameLimit = 63

  private init(_ type: ObjectBase.Type) {
    reference = ClassReference(type: type)
    name = type._realmObjectName() ?? String(describing: type)
    kind = type is EmbeddedObject.Type ? .embedded : type is AsymmetricObject.Type ? .asymmetric : .topLevel
    let example = type.init()
    let mapping = type.propertiesMapping(), ignored = Set(type.ignoredProperties())
    let primaryKey = type.primaryKey(), indexed = Set(type.indexedProperties())
    var properties: [ModelProperty] = []
    // 1: the type is a class.
    _ = unsafe _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { label, offset, fieldType, _ in
      guard let storage = fieldType as? any PropertyStorage.Type else { return true }
      let stored = unsafe String(cString: label), name = stored.hasPrefix("_") ? String(stored.dropFirst()) : stored
      if ignored.contains(name) { return true }
      let declaration = storage.declaration(in: example, at: offset)
      properties.append(
        ModelProperty(
          name: name,
          storedName: mapping[name] ?? name,
          offset: offset,
          storageType: storage,
          type: storage.valueType._rlmType,
          isPrimaryKey: declaration.isPrimaryKey || name == primaryKey,
          isIndexed: declaration.isIndexed || indexed.contains(name),
          originProperty: declaration.originProperty
        )
      )
      return true
    }
    self.properties = properties
    offsets = properties.map(\.offset)
    primaryKeyIndex = properties.firstIndex(where: \.isPrimaryKey)
    indexes = Self.indexes(of: properties)
    unknownNames = Set([primaryKey].compactMap { $0 }).union(indexed).subtracting(properties.map(\.name))
  }

  /// Creates the schema of a class in a file, with the properties that its columns are.
  init(dynamic name: String, _ kind: TableKind, _ properties: [ModelProperty]) {
    reference = ClassReference(type: DynamicObject.self)
    (self.name, self.kind, self.properties) = (name, kind, properties)
    // Dynamic objects have no storage for values: they are always managed.
    offsets = []
    primaryKeyIndex = properties.firstIndex(where: \.isPrimaryKey)
    indexes = Self.indexes(of: properties)
    unknownNames = []
  }

  private static func indexes(of properties: [ModelProperty]) -> [String: Int] {
    var indexes: [String: Int] = [:]
    for (index, property) in properties.enumerated() { indexes[property.storedName] = index }
    for (index, property) in properties.enumerated() { indexes[property.name] = index }
    return indexes
  }

  /// Returns true if objects of both classes have the same stored properties.
  func hasSameStorage(as other: ClassSchema) -> Bool {
    func stored(_ schema: ClassSchema) -> [String: ModelProperty] {
      Dictionary(
        schema.properties.filter(\.isStored).map { ($0.storedName, $0) },
        uniquingKeysWith: { first, _ in first }
      )
    }
    let (mine, theirs) = (stored(self), stored(other))
    return kind == other.kind && mine.count == theirs.count
      && mine.allSatisfy { name, property in theirs[name].map { property.hasSameColumn(as: $0) } ?? false }
  }

  /// The errors in the class declaration; empty if the class can be used.
  var problems: [String] {
    let (classNameLimit, propertyNameLimit) = (Self.classNameLimit, Self.propertyNameLimit)
    var problems: [String] = []
    if name.utf8.count > classNameLimit {
      problems.append("the name of class '\(name)' is longer than \(classNameLimit) bytes")
    }
    if properties.isEmpty { problems.append("class '\(name)' has no @Persisted properties") }
    let keys = properties.filter(\.isPrimaryKey)
    if keys.count > 1 { problems.append("class '\(name)' has \(keys.count) primary keys") }
    if isEmbedded, let key = keys.first {
      problems.append("the embedded class '\(name)' cannot have the primary key '\(key.name)'")
    }
    if kind == .asymmetric {
      problems.append("the asymmetric class '\(name)' is not allowed in a local realm: it needs flexible sync")
    }
    for property in properties {
      guard let linked = property.type.linkedClass?.type else { continue }
      if linked is AsymmetricObject.Type {
        problems.append("property '\(name).\(property.name)' cannot be a link to an asymmetric object")
      } else if kind == .asymmetric, !(linked is EmbeddedObject.Type) {
        problems.append("property '\(name).\(property.name)' of an asymmetric class can only link to embedded objects")
      }
    }
    for missing in unknownNames.sorted() {
      problems.append("class '\(name)' has no @Persisted property '\(missing)'")
    }
    for property in properties where property.storedName.utf8.count > propertyNameLimit {
      problems.append("the name of property '\(name).\(property.name)' is longer than \(propertyNameLimit) bytes")
    }
    let names = properties.map(\.storedName)
    for name in Set(names) where names.count(where: { $0 == name }) > 1 {
      problems.append("more than one property is stored as '\(name)'")
    }
    for property in properties where property.type.isLinkingObjects {
      guard let origin = property.linkedClass, let originName = property.originProperty else {
        problems.append("'\(name).\(property.name)' needs @Persisted(originProperty:)")
        continue
      }
      guard let index = origin.index(of: originName), origin.properties[index].linkedName == name,
        origin.properties[index].isStored
      else {
        problems.append("'\(name).\(property.name)': '\(origin.name).\(originName)' is not a link to \(name)")
        continue
      }
    }
    return problems
  }
}
