// Leaves of Mixed values. Source: docs/format/1-storage.md S15.

/// A leaf of Mixed values: one composite word per value, with payloads beside them.
struct MixedLeaf {
  private let root: Node
  private let composite: Node
  var count: Int { composite.count }

  init(_ arena: borrowing Arena, _ ref: Int) throws(EngineError) {
    root = try arena.refs(ref, slots: 4)
    composite = try arena.integers(root.child(0))
  }

  /// The type codes in realm-core's column_type.hpp. Source: docs/format/2-model.md M3.
  private enum Code {
    static let int: Int64 = 0, bool: Int64 = 1, string: Int64 = 2, data: Int64 = 4, date: Int64 = 8, float: Int64 = 9
    static let double: Int64 = 10, decimal: Int64 = 11, link: Int64 = 12, objectID: Int64 = 15, typedLink: Int64 = 16
    static let uuid: Int64 = 17, list: Int64 = 19, dictionary: Int64 = 21
  }

  func value(_ index: Int, _ arena: Arena) throws(EngineError) -> ValueView {
    let word = try composite.int(index)
    if word == 0 { return .null }
    let code = (word & 31) - 1, slot = Int(word >> 5 & 7), datum = word >> 8
    let position = Int(truncatingIfNeeded: datum)
    switch code {
    case Code.int: return .int(slot == 0 ? datum : try ints(arena).int(position))
    case Code.bool: return .bool(datum != 0)
    case Code.float:
      return .float(Float(bitPattern: UInt32(truncatingIfNeeded: try ints(arena).int(position))))
    case Code.double: return .double(Double(bitPattern: UInt64(bitPattern: try ints(arena).int(position))))
    case Code.string: return .string(try bytes(position, arena))
    case Code.data: return .data(try bytes(position, arena))
    case Code.objectID: return unsafe .objectID(ObjectID(try bytes(position, arena, count: 12)))
    case Code.uuid:
      let id = unsafe UniqueID(try bytes(position, arena, count: 16))
      return .uuid(arena.swapsGuids ? id.swapped : id)
    case Code.date:
      let (seconds, nanoseconds) = try pair(position, arena)
      return .date(try Timestamp(checked: seconds, nanoseconds, ref: root.ref))
    case Code.decimal:
      let (low, high) = try pair(position, arena)
      return .decimal128(Decimal128(low: UInt64(bitPattern: low), high: UInt64(bitPattern: high)))
    case Code.typedLink:
      let (table, key) = try pair(position, arena)
      return .link(TableKey(UInt32(truncatingIfNeeded: table)), ObjKey(key))
    case Code.list where arena.format < 24, Code.dictionary where arena.format < 24:
      throw .damaged("a collection in a Mixed value, which format \(arena.format) does not support", ref: root.ref)
    case Code.list: return .list(try ListView(arena, nested(position, arena), .mixed))
    case Code.dictionary: return .dictionary(try DictionaryView(arena, nested(position, arena), keyType: 2))
    default: throw .damaged("a Mixed value of the unknown type \(code)", ref: root.ref)
    }
  }

  private func payload(_ slot: Int, _ arena: Arena) throws(EngineError) -> Int {
    let ref = try root.childIfPresent(slot)
    if ref == 0 { throw .damaged("a Mixed value without its payload", ref: root.ref) }
    return ref
  }

  private func ints(_ arena: Arena) throws(EngineError) -> Node { try arena.integers(payload(1, arena)) }

  private func pair(_ index: Int, _ arena: Arena) throws(EngineError) -> (Int64, Int64) {
    let node = try arena.integers(payload(2, arena))
    if index < 0 || index > node.count { throw .damaged("a Mixed value whose index is out of range", ref: node.ref) }
    return (try node.int(2 * index), try node.int(2 * index + 1))
  }

  private func bytes(_ index: Int, _ arena: Arena) throws(EngineError) -> ByteView {
    guard let bytes = try StringLeaf(arena, payload(3, arena)).value(index, arena) else {
      throw .damaged("a Mixed value whose bytes are null", ref: root.ref)
    }
    return bytes
  }

  private func bytes(_ index: Int, _ arena: Arena, count: Int) throws(EngineError) -> UnsafeRawPointer {
    let bytes = try bytes(index, arena)
    if bytes.count != count {
      throw .damaged("a Mixed value of \(bytes.count) bytes instead of \(count)", ref: root.ref)
    }
    return unsafe bytes.base
  }

  private func nested(_ index: Int, _ arena: Arena) throws(EngineError) -> Int {
    try arena.refs(payload(4, arena)).child(index)
  }
}
