// Generates the instructions that change the values of an object. For collections it generates minimal changes, so that
// concurrent changes of other clients survive. Source: docs/format/7-sync.md 7.8.

import Glibc
import RealmPages

/// Writes the differences between the values of two versions as instructions.
struct ValueInstructions {
  var writer = ChangesetWriter()

  private let old: Snapshot, new: Snapshot
  /// The client file that creates new objects of classes without a primary key.
  private let file: Int64
  private var names: [TableKey: NameIndex] = [:]
  /// The keys of new objects in classes without a primary key.
  private var madeKeys: [ObjectReference: InstructionKey] = [:]
  /// The nesting depth of embedded objects.
  private var depth = 0
  private static let maximumDepth = 100

  init(from old: Snapshot, to new: Snapshot, writer: Int64) {
    (self.old, self.new, file) = (old, new, writer)
  }

  // MARK: names and keys

  /// Returns the name of a class, and introduces it if it is new to the changeset.
  mutating func name(_ table: Table) -> NameIndex {
    if let known = names[table.key] { return known }
    let name = writer.name(table.className ?? table.name)
    names[table.key] = name
    return name
  }

  /// Returns the primary key of an object, which may be unresolved; nil in a class without a primary key.
  func primaryKey(of key: ObjKey, _ table: Table) throws(EngineError) -> PrimaryKey? {
    guard let index = table.primaryKeyIndex else { return nil }
    let cursor = ObjectCursor(table)
    guard try cursor.seek(key) else { throw .damaged("object \(key) cannot be found", place: table.name) }
    return PrimaryKey(try cursor.value(index))
  }

  /// Returns the key of an object on the server.
  mutating func key(of key: ObjKey, _ table: Table) throws(EngineError) -> InstructionKey {
    if let made = madeKeys[ObjectReference(table: table.key, key: key)] { return made }
    guard table.primaryKeyIndex != nil else {
      let (high, low) = GlobalKey.global(key.isUnresolved ? ObjKey(-2 - key.value) : key)
      return .global(high: high, low: low)
    }
    switch try primaryKey(of: key, table) {
    case nil, .null: return .null
    case .int(let value): return .int(value)
    case .string(let bytes): return .string(writer.name(bytes))
    case .objectID(let id): return .objectID(id)
    case .uuid(let id): return .uuid(id)
    }
  }

  /// Returns the server key for an object that the transaction created.
  mutating func key(ofNew key: ObjKey, _ table: Table) throws(EngineError) -> InstructionKey {
    if table.primaryKeyIndex != nil { return try self.key(of: key, table) }
    let given = GlobalKey.global(key)
    if given.high == UInt64(bitPattern: file), given.low < 1 << 31 {
      // The program has chosen a key in the writer's range, which the object keeps.
      let made = InstructionKey.global(high: given.high, low: given.low)
      madeKeys[ObjectReference(table: table.key, key: key)] = made
      return made
    }
    var low: UInt64
    repeat {
      low = UInt64.random(in: 0..<1 << 31)
    } while try table.contains(GlobalKey.local(high: UInt64(bitPattern: file), low: low))
    let made = InstructionKey.global(high: UInt64(bitPattern: file), low: low)
    madeKeys[ObjectReference(table: table.key, key: key)] = made
    return made
  }

  // MARK: objects

  /// Writes the given properties of an object: all values that are not the default, or those that differ from the
  /// previous version.
  mutating func write(
    _ key: ObjKey,
    _ table: Table,
    _ properties: some Sequence<Int>,
    before: Table?,
    _ difference: TableDifference
  ) throws(EngineError) {
    let cursor = ObjectCursor(table)
    guard try cursor.seek(key) else { throw .damaged("object \(key) cannot be found", place: table.name) }
    var former: ObjectCursor?
    if let before {
      let other = ObjectCursor(before)
      if try other.seek(key) { former = other }
    }
    let tableName = name(table), identity = try self.key(of: key, table)
    for index in properties where index != table.primaryKeyIndex {
      let column = table.columns[index], value = try Value(copying: cursor.value(index))
      var present: Value?
      if let former, let position = difference.oldProperty(index) {
        present = try Value(copying: former.value(position))
      }
      let place = Instruction.Place(table: tableName, key: identity, field: writer.name(column.name))
      try write(value, over: present, column, at: place)
    }
  }

  /// Writes a property of an object or of an embedded object.
  private mutating func write(
    _ value: Value,
    over present: Value?,
    _ column: Column,
    at place: Instruction.Place
  ) throws(EngineError) {
    let embedded = try self.embedded(column)
    switch (column.collection, value) {
    case (.list, .list(let values)):
      var former: [Value] = []
      if case .list(let present) = present { former = present }
      try write(list: values, over: former, embedded, at: place)
    case (.set, .list(let values)):
      var former: [Value] = []
      if case .list(let present) = present { former = present }
      try write(set: values, over: former, at: place)
    case (.dictionary, .dictionary(let entries)):
      var former: [Value.Entry] = []
      if case .dictionary(let present) = present { former = present }
      try write(dictionary: entries, over: former, embedded, at: place)
    case (nil, _):
      if let embedded {
        try write(embedded: value, over: present ?? .null, embedded, at: place)
      } else if let present {
        try write(single: value, over: present, at: place, prior: nil)
      } else if !value.isIdentical(to: column.defaultValue ?? .null) {
        try put(value, at: place, .property)
      }
    default: throw .damaged("a value of another kind", place: column.name)
    }
  }

  /// Returns the table of a property's embedded objects; nil if the property has none.
  private func embedded(_ column: Column) throws(EngineError) -> Table? {
    guard column.type == .link, let key = column.targetTable, let table = try new.table(key), table.kind == .embedded
    else { return nil }
    return table
  }

  // MARK: single values

  /// The kind of place that a value is written to.
  private enum Way {
    /// A property, or an entry of a dictionary.
    case property
    /// An element that is replaced, in a list of `prior` elements.
    case element(prior: UInt32)
    /// An element that is inserted, into a list of `prior` elements.
    case insertion(prior: UInt32)
  }

  /// Writes a value and its contents to a place that has no value yet.
  private mutating func put(_ value: Value, at place: Instruction.Place, _ way: Way) throws(EngineError) {
    switch value {
    case .link(let target, let key):
      guard let table = try new.table(target) else { throw .damaged("a link without a table") }
      let className = name(table)
      append(.link(className, try self.key(of: key, table)), at: place, way)
    case .list(let values):
      append(.list, at: place, way)
      for (index, value) in values.enumerated() {
        try put(value, at: place.step(.index(UInt32(index))), .insertion(prior: UInt32(index)))
      }
    case .dictionary(let entries):
      append(.dictionary, at: place, way)
      for entry in entries { try put(entry.value, at: place.step(.name(writer.name(entry.key))), .property) }
    default: append(.scalar(value), at: place, way)
    }
  }

  private mutating func append(_ payload: Instruction.Payload, at place: Instruction.Place, _ way: Way) {
    switch way {
    case .property: writer.append(.edit(place, .update(payload, isDefault: false)))
    case .element(let prior): writer.append(.edit(place, .updateElement(payload, prior: prior)))
    case .insertion(let prior): writer.append(.edit(place, .insert(payload, prior: prior)))
    }
  }

  /// Changes one value into another; collections in a Mixed keep their common elements. `prior` is set for an element
  /// of a list.
  private mutating func write(
    single value: Value,
    over present: Value,
    at place: Instruction.Place,
    prior: UInt32?
  ) throws(EngineError) {
    if present.isIdentical(to: value) { return }
    switch (value, present) {
    case (.list(let values), .list(let former)): try write(list: values, over: former, nil, at: place)
    case (.dictionary(let entries), .dictionary(let former)):
      try write(dictionary: entries, over: former, nil, at: place)
    default: try put(value, at: place, prior.map { .element(prior: $0) } ?? .property)
    }
  }

  // MARK: collections

  private mutating func write(
    list values: [Value],
    over former: [Value],
    _ embedded: Table?,
    at place: Instruction.Place
  ) throws(EngineError) {
    let difference = ListDifference(old: former.count, new: values.count) { former[$0].isIdentical(to: values[$1]) }
    if let embedded {
      // Elements that are kept may have changed internally.
      for index in values.indices where !difference.replaced.contains(index) && !difference.inserted.contains(index) {
        let before = index < difference.replaced.lowerBound ? index : index + former.count - values.count
        try change(values[index], embedded, at: place.step(.index(UInt32(before))))
      }
    }
    var count = UInt32(former.count)
    for index in difference.replaced where !former[index].isIdentical(to: values[index]) {
      let element = place.step(.index(UInt32(index)))
      if let embedded {
        writer.append(.edit(element, .erase(prior: count)))
        writer.append(.edit(element, .insert(.object, prior: count - 1)))
        try fill(values[index], embedded, at: element)
      } else {
        try write(single: values[index], over: former[index], at: element, prior: count)
      }
    }
    for index in difference.removed.reversed() {
      writer.append(.edit(place.step(.index(UInt32(index))), .erase(prior: count)))
      count -= 1
    }
    for index in difference.inserted {
      let element = place.step(.index(UInt32(index)))
      if let embedded {
        writer.append(.edit(element, .insert(.object, prior: count)))
        try fill(values[index], embedded, at: element)
      } else {
        try put(values[index], at: element, .insertion(prior: count))
      }
      count += 1
    }
  }

  private mutating func write(set values: [Value], over former: [Value], at place: Instruction.Place)
    throws(EngineError)
  {
    let difference = SetDifference(old: former.map(\.bits), new: values.map(\.bits))
    for index in difference.removed { try member(former[index], isNew: false, at: place) }
    for index in difference.added { try member(values[index], isNew: true, at: place) }
  }

  private mutating func member(_ value: Value, isNew: Bool, at place: Instruction.Place) throws(EngineError) {
    var payload = Instruction.Payload.scalar(value)
    if case .link(let target, let key) = value {
      guard let table = try (isNew ? new : old).table(target) else { throw .damaged("a link without a table") }
      let className = name(table)
      payload = .link(className, try self.key(of: key, table))
    }
    writer.append(.edit(place, isNew ? .setInsert(payload) : .setErase(payload)))
  }

  private mutating func write(
    dictionary entries: [Value.Entry],
    over former: [Value.Entry],
    _ embedded: Table?,
    at place: Instruction.Place
  ) throws(EngineError) {
    let difference = DictionaryDifference(old: former.map(\.key), new: entries.map(\.key))
    for (entry, position) in zip(entries, difference.former) {
      let step = place.step(.name(writer.name(entry.key))), present = position.map { former[$0].value }
      if let embedded {
        if entry.value == .null {
          if present != .null { try put(.null, at: step, .property) }
        } else if present == entry.value {
          try change(entry.value, embedded, at: step)
        } else {
          // If the key exists, this also creates a new object.
          append(.object, at: step, .property)
          try fill(entry.value, embedded, at: step)
        }
      } else if let present {
        try write(single: entry.value, over: present, at: step, prior: nil)
      } else {
        try put(entry.value, at: step, .property)
      }
    }
    for index in difference.removed {
      append(.erased, at: place.step(.name(writer.name(former[index].key))), .property)
    }
  }

  // MARK: embedded objects

  private mutating func write(
    embedded value: Value,
    over present: Value,
    _ table: Table,
    at place: Instruction.Place
  ) throws(EngineError) {
    if value == present { return try change(value, table, at: place) }
    if present != .null { append(.scalar(.null), at: place, .property) }
    if value == .null { return }
    append(.object, at: place, .property)
    try fill(value, table, at: place)
  }

  /// Writes the properties of a new embedded object that differ from the default.
  private mutating func fill(_ value: Value, _ table: Table, at place: Instruction.Place) throws(EngineError) {
    guard case .link(_, let key) = value else { throw .damaged("no embedded object", place: table.name) }
    try deeper(table)
    defer { depth -= 1 }
    for (column, value) in try values(of: key, table) {
      try write(value, over: nil, column, at: place.step(.name(writer.name(column.name))))
    }
  }

  /// Writes the differences in an embedded object that is kept.
  private mutating func change(_ value: Value, _ table: Table, at place: Instruction.Place) throws(EngineError) {
    guard case .link(_, let key) = value, let before = try old.table(table.key) else { return }
    try deeper(table)
    defer { depth -= 1 }
    let former = Dictionary(try values(of: key, before).map { ($0.0.key, $0.1) }) { $1 }
    for (column, value) in try values(of: key, table) {
      let present = former[column.key]
      if column.type != .link, let present, present.isIdentical(to: value) { continue }
      try write(value, over: present, column, at: place.step(.name(writer.name(column.name))))
    }
  }

  private mutating func deeper(_ table: Table) throws(EngineError) {
    depth += 1
    if depth > Self.maximumDepth { throw .damaged("embedded objects that contain each other", place: table.name) }
  }

  private func values(of key: ObjKey, _ table: Table) throws(EngineError) -> [(Column, Value)] {
    let cursor = ObjectCursor(table)
    guard try cursor.seek(key) else { throw .damaged("object \(key) cannot be found", place: table.name) }
    var values: [(Column, Value)] = []
    for (index, column) in table.columns.enumerated() {
      values.append((column, try Value(copying: cursor.value(index))))
    }
    return values
  }
}

extension Instruction.Place {
  /// Returns the place one step deeper.
  fileprivate func step(_ step: Instruction.Step) -> Instruction.Place {
    var place = self
    place.path.append(step)
    return place
  }
}
