// Serializes a changeset of Realm Sync. Names are introduced on first use. Source: docs/format/7-sync.md 7.6.

import RealmPages

/// Serializes instructions into a changeset.
public struct ChangesetWriter: Sendable {
  /// The bytes of the changeset.
  public private(set) var bytes: [UInt8] = []
  private var indexes: [[UInt8]: NameIndex] = [:]

  /// Creates an empty changeset, which the server accepts but does not broadcast.
  public init() {}

  /// Returns the index of a name, and introduces the name if it is new.
  public mutating func name(_ text: [UInt8]) -> NameIndex {
    if let known = indexes[text] { return known }
    let index = NameIndex(indexes.count)
    append(.name(index, text))
    return index
  }

  /// Returns the index of a name, and introduces the name if it is new.
  public mutating func name(_ text: String) -> NameIndex { name(Array(text.utf8)) }

  /// Appends an instruction. Its names must already have been introduced.
  public mutating func append(_ instruction: Instruction) {
    switch instruction {
    case .name(let index, let text):
      indexes[text] = index
      begin(.name)
      put(Int64(index.value))
      put(text)
    case .addTable(let table, let form):
      begin(.addTable)
      put(table)
      put(form)
    case .eraseTable(let table):
      begin(.eraseTable)
      put(table)
    case .createObject(let table, let key):
      begin(.createObject)
      put(table)
      put(key)
    case .eraseObject(let table, let key):
      begin(.eraseObject)
      put(table)
      put(key)
    case .addColumn(let table, let form):
      begin(.addColumn)
      put(table)
      put(form)
    case .eraseColumn(let table, let column):
      begin(.eraseColumn)
      put(table)
      put(column)
    case .edit(let place, let edit): put(edit, at: place)
    }
  }

  // MARK: parts

  private mutating func put(_ form: Instruction.TableForm) {
    switch form {
    case .embedded: put(1)
    case .topLevel(let key, let isAsymmetric):
      put(isAsymmetric ? 2 : 0)
      put(key.name)
      put(key.type.map(PayloadCode.code(of:)) ?? PayloadCode.global)
      put(key.isNullable ? 1 : 0)
    }
  }

  private mutating func put(_ form: Instruction.PropertyForm) {
    put(form.name)
    put(PayloadCode.code(of: form.type))
    put(form.isNullable ? 1 : 0)
    let kind: Int64 =
      switch form.collection {
      case nil: 0
      case .list: 1
      case .dictionary: 2
      case .set: 3
      }
    put(kind)
    if let target = form.target { put(target) }
    if form.collection == .dictionary { put(PayloadCode.string) }
  }

  private mutating func put(_ edit: Instruction.Edit, at place: Instruction.Place) {
    switch edit {
    case .update(let payload, let isDefault):
      begin(.update, place)
      put(payload)
      put(isDefault ? 1 : 0)
    case .updateElement(let payload, let prior):
      begin(.update, place)
      put(payload)
      put(Int64(prior))
    case .addInteger(let amount):
      begin(.addInteger, place)
      put(amount)
    case .insert(let payload, let prior):
      begin(.insert, place)
      put(payload)
      put(Int64(prior))
    case .move(let target, let prior):
      begin(.move, place)
      put(Int64(target))
      put(Int64(prior))
    case .erase(let prior):
      begin(.erase, place)
      put(Int64(prior))
    case .clear(let kind):
      begin(.clear, place)
      put(kind.rawValue)
    case .setInsert(let payload):
      begin(.setInsert, place)
      put(payload)
    case .setErase(let payload):
      begin(.setErase, place)
      put(payload)
    }
  }

  private mutating func begin(_ code: InstructionCode) { put(code.rawValue) }

  private mutating func begin(_ code: InstructionCode, _ place: Instruction.Place) {
    begin(code)
    put(place.table)
    put(place.key)
    put(place.field)
    put(Int64(place.path.count))
    for step in place.path {
      switch step {
      case .index(let index): put(Int64(index))
      case .name(let name):
        put(-1)
        put(name)
      }
    }
  }

  private mutating func put(_ key: InstructionKey) {
    switch key {
    case .null: put(PayloadCode.null)
    case .int(let value): put(Value.int(value))
    case .string(let name):
      put(PayloadCode.string)
      put(name)
    case .objectID(let id): put(Value.objectID(id))
    case .uuid(let id): put(Value.uuid(id))
    case .global(let high, let low):
      put(PayloadCode.global)
      ChangesetInteger.append(unsigned: high, to: &bytes)
      ChangesetInteger.append(unsigned: low, to: &bytes)
    }
  }

  private mutating func put(_ payload: Instruction.Payload) {
    switch payload {
    case .scalar(let value): put(value)
    case .link(let table, let key):
      put(PayloadCode.link)
      put(table)
      put(key)
    case .object: put(PayloadCode.object)
    case .list: put(PayloadCode.list)
    case .dictionary: put(PayloadCode.dictionary)
    case .erased: put(PayloadCode.erased)
    }
  }

  private mutating func put(_ value: Value) {
    switch value {
    case .int(let number):
      put(PayloadCode.int)
      put(number)
    case .bool(let flag):
      put(PayloadCode.bool)
      put(flag ? 1 : 0)
    case .string(let text):
      put(PayloadCode.string)
      put(text)
    case .data(let data):
      put(PayloadCode.data)
      put(data)
    case .date(let date):
      put(PayloadCode.date)
      put(date.seconds)
      put(Int64(date.nanoseconds))
    case .float(let number):
      put(PayloadCode.float)
      fixed(UInt64(number.bitPattern), 4)
    case .double(let number):
      put(PayloadCode.double)
      fixed(number.bitPattern, 8)
    case .decimal128(let number):
      put(PayloadCode.decimal128)
      put(number)
    case .objectID(let id):
      put(PayloadCode.objectID)
      put(id)
    case .uuid(let id):
      put(PayloadCode.uuid)
      put(id)
    // Links and collections are separate kinds of payload.
    case .null, .link, .list, .dictionary: put(PayloadCode.null)
    }
  }

  private mutating func put(_ number: Decimal128) {
    var (high, low, exponent, isNegative) = number.parts
    while high != 0 || low >= 64 {
      bytes.append(0x80 | UInt8(low & 0x7f))
      low = low >> 7 | high << 57
      high >>= 7
    }
    bytes.append(UInt8(low))
    put(exponent)
    put(isNegative ? 1 : 0)
  }

  private mutating func put(_ id: ObjectID) {
    fixed(id.high.byteSwapped, 8)
    fixed(UInt64(id.low.byteSwapped), 4)
  }

  private mutating func put(_ id: UniqueID) {
    fixed(id.high.byteSwapped, 8)
    fixed(id.low.byteSwapped, 8)
  }

  // MARK: bytes

  private mutating func put(_ name: NameIndex) { put(Int64(name.value)) }

  private mutating func put(_ value: Int64) { ChangesetInteger.append(value, to: &bytes) }

  private mutating func put(_ text: [UInt8]) {
    put(Int64(text.count))
    bytes += text
  }

  private mutating func fixed(_ value: UInt64, _ size: Int) {
    for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
  }
}
