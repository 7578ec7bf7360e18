// Parses a changeset of Realm Sync, instruction by instruction. Invariant: for any input from a server, parsing does
// not trap, does not read out of bounds, and does not allocate more memory than the changeset is long. Source:
// docs/format/7-sync.md 7.6.

import RealmPages

/// The reason that bytes are not a valid changeset, and the location.
public struct ChangesetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The offset at which parsing failed.
  public let offset: Int
  /// The number of the instruction, from 0, including names.
  public let instruction: Int
  /// The problem.
  public let problem: String

  /// The problem and its location.
  public var description: String { "changeset, byte \(offset), instruction \(instruction): \(problem)" }
}

/// Parses the instructions of one changeset in order.
public struct ChangesetReader: Sendable {
  /// The names introduced so far, indexed by `NameIndex`.
  public private(set) var names: [[UInt8]] = []
  /// The number of instructions read, including names.
  public private(set) var count = 0
  /// The offset of the next instruction.
  public private(set) var offset = 0

  private let bytes: [UInt8]
  private var known: Set<[UInt8]> = []
  private var start = 0

  /// The maximum sizes that the server's parser accepts.
  static let maximumString = 0xff_ffef, maximumBinary = 0xff_fff0
  /// The maximum number of steps in a path.
  private static let maximumPath = 128

  /// Creates a reader at the first byte of a changeset.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Returns all instructions of a changeset.
  public static func instructions(of bytes: [UInt8]) throws(ChangesetError) -> [Instruction] {
    var reader = ChangesetReader(bytes), all: [Instruction] = []
    while let instruction = try reader.next() { all.append(instruction) }
    return all
  }

  /// Reads the next instruction; returns nil at the end.
  public mutating func next() throws(ChangesetError) -> Instruction? {
    if offset == bytes.count { return nil }
    start = offset
    let code = try integer("instruction")
    guard let known = InstructionCode(rawValue: code) else { throw error("unknown instruction \(code)") }
    let instruction = try read(known)
    count += 1
    return instruction
  }

  /// Returns the text of a name.
  public func text(_ name: NameIndex) -> String { String(decoding: names[name.value], as: UTF8.self) }

  private mutating func read(_ code: InstructionCode) throws(ChangesetError) -> Instruction {
    switch code {
    case .name: return try introduceName()
    case .addTable: return .addTable(try name("class"), try tableForm())
    case .eraseTable: return .eraseTable(try name("class"))
    case .createObject: return .createObject(try name("class"), try key())
    case .eraseObject: return .eraseObject(try name("class"), try key())
    case .addColumn: return .addColumn(try name("class"), try columnForm())
    case .eraseColumn: return .eraseColumn(try name("class"), try name("property"))
    default: break
    }
    let place = try place()
    switch code {
    case .update:
      let payload = try payload()
      if place.lastIndex == nil { return .edit(place, .update(payload, isDefault: try flag("is default"))) }
      return .edit(place, .updateElement(payload, prior: try position("prior size")))
    case .addInteger: return .edit(place, .addInteger(try integer("amount")))
    case .clear:
      let kind = try integer("collection")
      guard let known = Instruction.ClearedKind(rawValue: kind) else { throw error("unknown collection \(kind)") }
      return .edit(place, .clear(known))
    case .setInsert: return .edit(place, .setInsert(try payload()))
    case .setErase: return .edit(place, .setErase(try payload()))
    default: break
    }
    if place.lastIndex == nil { throw error("a list instruction whose path does not end in an index") }
    switch code {
    case .insert:
      let payload = try payload()
      return .edit(place, .insert(payload, prior: try position("prior size")))
    case .move:
      let target = try position("index")
      return .edit(place, .move(to: target, prior: try position("prior size")))
    default: return .edit(place, .erase(prior: try position("prior size")))
    }
  }

  // MARK: parts

  private mutating func introduceName() throws(ChangesetError) -> Instruction {
    let index = try integer("index of a name")
    if index != names.count { throw error("name \(index) where name \(names.count) is next") }
    let bytes = try bytes("name", limit: Self.maximumString)
    if !known.insert(bytes).inserted { throw error("a name that the changeset has already") }
    names.append(bytes)
    return .name(NameIndex(Int(index)), bytes)
  }

  private mutating func name(_ what: String) throws(ChangesetError) -> NameIndex {
    let index = try integer(what)
    guard index >= 0, index < names.count else { throw error("\(what): unknown name \(index)") }
    return NameIndex(Int(index))
  }

  private mutating func tableForm() throws(ChangesetError) -> Instruction.TableForm {
    let kind = try integer("kind of class")
    switch kind {
    case 1: return .embedded
    case 0, 2:
      let property = try name("primary key"), code = try integer("type of the primary key")
      let type: ValueType?
      switch PayloadCode.type(code) {
      case let key? where [.int, .string, .objectID, .uuid].contains(key): type = key
      case nil where code == PayloadCode.global: type = nil
      default: throw error("type \(code) for a primary key")
      }
      let isNullable = try flag("nullable")
      let form = Instruction.PrimaryKeyForm(name: property, type: type, isNullable: isNullable)
      return .topLevel(primaryKey: form, isAsymmetric: kind == 2)
    default: throw error("unknown kind of class \(kind)")
    }
  }

  private mutating func columnForm() throws(ChangesetError) -> Instruction.PropertyForm {
    let name = try name("property"), code = try integer("type")
    guard let type = PayloadCode.type(code) else { throw error("unknown type \(code)") }
    let isNullable = try flag("nullable"), kind = try integer("collection")
    let collection: CollectionKind?
    switch kind {
    case 0: collection = nil
    case 1: collection = .list
    case 2: collection = .dictionary
    case 3: collection = .set
    default: throw error("unknown collection \(kind)")
    }
    let target = type == .link ? try self.name("target class") : nil
    if collection == .dictionary {
      let keys = try integer("type of keys")
      if keys != PayloadCode.string { throw error("type \(keys) for the keys of a dictionary") }
    }
    return Instruction.PropertyForm(
      name: name,
      type: type,
      collection: collection,
      isNullable: isNullable,
      target: target
    )
  }

  private mutating func place() throws(ChangesetError) -> Instruction.Place {
    var place = Instruction.Place(table: try name("class"), key: try key(), field: try name("property"))
    let count = try integer("length of the path")
    if count == 0 { return place }
    guard count > 0, count <= Self.maximumPath else { throw error("a path of \(count) steps") }
    for _ in 0..<count {
      let step = try integer("step")
      if step == -1 {
        place.path.append(.name(try name("step")))
      } else if let index = UInt32(exactly: step) {
        place.path.append(.index(index))
      } else {
        throw error("step \(step)")
      }
    }
    return place
  }

  private mutating func key() throws(ChangesetError) -> InstructionKey {
    let code = try integer("type of a key")
    switch code {
    case PayloadCode.null: return .null
    case PayloadCode.int: return .int(try integer("key"))
    case PayloadCode.string: return .string(try name("key"))
    case PayloadCode.objectID: return .objectID(try objectID())
    case PayloadCode.uuid: return .uuid(try uuid())
    case PayloadCode.global: return .global(high: try unsigned("key"), low: try unsigned("key"))
    default: throw error("type \(code) for a key")
    }
  }

  private mutating func payload() throws(ChangesetError) -> Instruction.Payload {
    let code = try integer("type of a value")
    switch code {
    case PayloadCode.null: return .scalar(.null)
    case PayloadCode.int: return .scalar(.int(try integer("value")))
    case PayloadCode.bool: return .scalar(.bool(try flag("value")))
    case PayloadCode.string: return .scalar(.string(try bytes("string", limit: Self.maximumString)))
    case PayloadCode.data: return .scalar(.data(try bytes("binary", limit: Self.maximumBinary)))
    case PayloadCode.date: return .scalar(.date(try timestamp()))
    case PayloadCode.float: return .scalar(.float(Float(bitPattern: UInt32(try fixed(4)))))
    case PayloadCode.double: return .scalar(.double(Double(bitPattern: try fixed(8))))
    case PayloadCode.decimal128: return .scalar(.decimal128(try decimal()))
    case PayloadCode.link: return .link(try name("class"), try key())
    case PayloadCode.objectID: return .scalar(.objectID(try objectID()))
    case PayloadCode.uuid: return .scalar(.uuid(try uuid()))
    case PayloadCode.object: return .object
    case PayloadCode.list: return .list
    case PayloadCode.dictionary: return .dictionary
    case PayloadCode.erased: return .erased
    default: throw error("type \(code) for a value")
    }
  }

  private mutating func timestamp() throws(ChangesetError) -> Timestamp {
    let seconds = try integer("seconds"), nanoseconds = try integer("nanoseconds")
    guard nanoseconds.magnitude < 1_000_000_000, seconds <= 0 || nanoseconds >= 0, seconds >= 0 || nanoseconds <= 0
    else { throw error("\(nanoseconds) nanoseconds for \(seconds) seconds") }
    return Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))
  }

  /// Reads a decimal. The coefficient is unsigned: seven bits per byte, low bits first; in a client's changeset the
  /// last byte is below 0x40.
  private mutating func decimal() throws(ChangesetError) -> Decimal128 {
    var low: UInt64 = 0, high: UInt64 = 0, shift: UInt64 = 0
    while true {
      let byte = try byte("decimal")
      let bits = UInt64(byte & 0x7f)
      if shift < 64 {
        low |= bits << shift
        if shift > 57 { high |= bits >> (64 - shift) }
      } else if shift < 119 {
        high |= bits << (shift - 64)
      } else if bits != 0 {
        throw error("a decimal of more than 113 bits")
      }
      if byte & 0x80 == 0 { break }
      shift += 7
      if shift > 126 { throw error("a decimal of more than 113 bits") }
    }
    let exponent = try integer("exponent"), isNegative = try flag("sign")
    guard let value = Decimal128(high: high, low: low, exponent: exponent, isNegative: isNegative) else {
      throw error("a decimal out of range")
    }
    return value
  }

  private mutating func objectID() throws(ChangesetError) -> ObjectID {
    ObjectID(high: try fixed(8).byteSwapped, low: UInt32(try fixed(4)).byteSwapped)
  }

  private mutating func uuid() throws(ChangesetError) -> UniqueID {
    UniqueID(high: try fixed(8).byteSwapped, low: try fixed(8).byteSwapped)
  }

  // MARK: bytes

  private mutating func byte(_ what: String) throws(ChangesetError) -> UInt8 {
    guard offset < bytes.count else { throw error("\(what): the changeset ends") }
    offset += 1
    return bytes[offset - 1]
  }

  /// Reads a little-endian number of `size` bytes.
  private mutating func fixed(_ size: Int) throws(ChangesetError) -> UInt64 {
    guard bytes.count - offset >= size else { throw error("value: the changeset ends") }
    var value: UInt64 = 0
    for index in 0..<size { value |= UInt64(bytes[offset + index]) << UInt64(8 * index) }
    offset += size
    return value
  }

  private mutating func bytes(_ what: String, limit: Int) throws(ChangesetError) -> [UInt8] {
    let size = try integer(what)
    guard size >= 0, size <= limit else { throw error("\(what) of \(size) bytes") }
    guard size <= bytes.count - offset else { throw error("\(what) of \(size) bytes: the changeset ends") }
    offset += Int(size)
    return Array(bytes[offset - Int(size)..<offset])
  }

  private mutating func integer(_ what: String) throws(ChangesetError) -> Int64 {
    do { return try ChangesetInteger.read(bytes, at: &offset) } catch {
      throw self.error("\(what): \(error.rawValue)")
    }
  }

  private mutating func unsigned(_ what: String) throws(ChangesetError) -> UInt64 {
    do { return try ChangesetInteger.readUnsigned(bytes, at: &offset) } catch {
      throw self.error("\(what): \(error.rawValue)")
    }
  }

  private mutating func position(_ what: String) throws(ChangesetError) -> UInt32 {
    let value = try integer(what)
    guard let position = UInt32(exactly: value) else { throw error("\(what): \(value)") }
    return position
  }

  private mutating func flag(_ what: String) throws(ChangesetError) -> Bool {
    let value = try integer(what)
    if value != 0 && value != 1 { throw error("\(what): \(value) is neither 0 nor 1") }
    return value == 1
  }

  private func error(_ problem: String) -> ChangesetError {
    ChangesetError(offset: offset, instruction: count, problem: problem)
  }
}
