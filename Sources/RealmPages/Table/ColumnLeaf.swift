// One leaf of a column or collection, of any type. Sources: docs/format/1-storage.md S5 to S15,
// docs/format/2-model.md M6.

/// The type of a leaf's elements.
struct ElementType: Sendable {
  let type: ValueType
  let isNullable: Bool
  /// For links: their target table.
  let target: TableKey
  /// True for a column of typed links, each with its own target table. They are presented like links in a Mixed.
  let isTypedLink: Bool

  init(_ type: ValueType, isNullable: Bool, target: TableKey = .none, isTypedLink: Bool = false) {
    self.type = type
    self.isNullable = isNullable
    self.target = target
    self.isTypedLink = isTypedLink
  }

  static let mixed = ElementType(.mixed, isNullable: true)
  static let string = ElementType(.string, isNullable: false)
}

/// An opened leaf: its nodes are located and checked, ready for reads at any index.
enum ColumnLeaf {
  case ints(Node)
  case nullableInts(NullableIntLeaf)
  case bools(Node)
  case floats(FloatingLeaf)
  case doubles(FloatingLeaf)
  case strings(StringLeaf)
  case enumeratedStrings(Node, StringLeaf)
  case data(BlobLeaf)
  case dates(TimestampLeaf)
  case decimals(DecimalLeaf)
  case objectIDs(FixedBytesLeaf)
  case uuids(FixedBytesLeaf)
  /// Keys are stored with `bias` added; a stored 0 is null when `bias` is 1.
  case links(Node, bias: Int64, TableKey)
  case typedLinks(Node)
  case mixed(MixedLeaf)
  case collections(Node, CollectionKind, ElementType, dictionaryKeyType: Int)

  /// Opens a leaf of elements: of a scalar column, or of a collection's tree (`inTree`).
  init(_ arena: borrowing Arena, _ ref: Int, _ element: ElementType, inTree: Bool, enumRef: Int = 0) throws(EngineError)
  {
    switch element.type {
    case .int where element.isNullable: self = .nullableInts(try NullableIntLeaf(arena, ref))
    case .int: self = .ints(try arena.integers(ref))
    case .bool: self = .bools(try arena.integers(ref))
    case .float: self = .floats(try FloatingLeaf(arena, ref, width: 4))
    case .double: self = .doubles(try FloatingLeaf(arena, ref, width: 8))
    case .string:
      let root = try arena.node(ref)
      if root.scheme == .bits && !root.hasRefs {
        if enumRef == 0 { throw .damaged("an enumerated leaf in a column without values", ref: ref) }
        self = .enumeratedStrings(root, try StringLeaf(arena, enumRef))
      } else {
        self = .strings(try StringLeaf(arena, root))
      }
    case .data: self = .data(try BlobLeaf(arena, arena.node(ref), isText: false))
    case .date: self = .dates(try TimestampLeaf(arena, ref))
    case .decimal128: self = .decimals(try DecimalLeaf(arena, ref))
    case .objectID: self = .objectIDs(try FixedBytesLeaf(arena, ref, width: 12))
    case .uuid: self = .uuids(try FixedBytesLeaf(arena, ref, width: 16))
    case .link: self = .links(try arena.integers(ref), bias: inTree ? 0 : 1, element.target)
    case .mixed where element.isTypedLink: self = .typedLinks(try arena.integers(ref))
    case .mixed: self = .mixed(try MixedLeaf(arena, ref))
    }
    // Elements of width 0 occupy no space, so a damaged count could make a loop over them practically endless.
    if inTree, count > BPlusTree.maximumLeaf { throw .damaged("a leaf of \(count) elements", ref: ref) }
  }

  /// The number of values.
  var count: Int {
    switch self {
    case .ints(let node), .bools(let node), .enumeratedStrings(let node, _), .links(let node, _, _),
      .collections(let node, _, _, _):
      node.count
    case .typedLinks(let node): node.count / 2
    case .nullableInts(let leaf): leaf.count
    case .floats(let leaf), .doubles(let leaf): leaf.count
    case .strings(let leaf): leaf.count
    case .data(let leaf): leaf.count
    case .dates(let leaf): leaf.count
    case .decimals(let leaf): leaf.count
    case .objectIDs(let leaf), .uuids(let leaf): leaf.count
    case .mixed(let leaf): leaf.count
    }
  }

  /// Returns the value at `index`. An index out of bounds throws an `EngineError`.
  func value(_ index: Int, _ arena: Arena) throws(EngineError) -> ValueView {
    switch self {
    case .ints(let node): return .int(try node.int(index))
    case .nullableInts(let leaf): return try leaf.value(index).map { .int($0) } ?? .null
    case .bools(let node): return try Self.bool(node, index)
    case .floats(let leaf): return try leaf.float(index).map { .float($0) } ?? .null
    case .doubles(let leaf): return try leaf.double(index).map { .double($0) } ?? .null
    case .strings(let leaf): return try leaf.value(index, arena).map { .string($0) } ?? .null
    case .enumeratedStrings(let indexes, let values):
      return try values.value(Int(truncatingIfNeeded: indexes.int(index)), arena).map { .string($0) } ?? .null
    case .data(let leaf): return try leaf.value(index, arena).map { .data($0) } ?? .null
    case .dates(let leaf): return try leaf.value(index).map { .date($0) } ?? .null
    case .decimals(let leaf): return try leaf.value(index).map { .decimal128($0) } ?? .null
    case .objectIDs(let leaf): return try leaf.objectID(index).map { .objectID($0) } ?? .null
    case .uuids(let leaf): return try leaf.uuid(index).map { .uuid($0) } ?? .null
    case .links(let node, let bias, let target): return try Self.link(node, bias, target, index)
    case .typedLinks(let node):
      let table = try node.int(2 * index)
      return table == 0
        ? .null
        : .link(
          TableKey(UInt32(truncatingIfNeeded: table &- 1) & 0x7FFF_FFFF),
          ObjKey(try node.int(2 * index + 1) &- 1)
        )
    case .mixed(let leaf): return try leaf.value(index, arena)
    case .collections(let node, let kind, let element, let keyType):
      let ref = try node.child(index)
      switch kind {
      case .list: return .list(try ListView(arena, ref, element))
      case .set: return .set(try ListView(arena, ref, element, isSet: true))
      case .dictionary: return .dictionary(try DictionaryView(arena, ref, keyType: keyType))
      }
    }
  }

  @inline(__always)
  static func bool(_ node: Node, _ index: Int) throws(EngineError) -> ValueView {
    switch try node.int(index) {
    case 0: return .bool(false)
    case 1: return .bool(true)
    case 3: return .null
    case let other: throw .damaged("\(other) is not a bool", ref: node.ref)
    }
  }

  @inline(__always)
  static func link(
    _ node: Node,
    _ bias: Int64,
    _ target: TableKey,
    _ index: Int
  ) throws(EngineError) -> ValueView {
    let key = try node.int(index) &- bias
    return key == -1 ? .null : .link(target, ObjKey(key))
  }
}
