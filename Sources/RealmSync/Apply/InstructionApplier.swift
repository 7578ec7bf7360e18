// Applies the changes of a server's history to a transaction, in order and unmodified: the server has already merged
// them. Source: docs/format/7-sync.md 7.7.

public import RealmPages

/// Applies changesets to one transaction. After an error the transaction must be rolled back.
public struct InstructionApplier {
  private var catalog = ClassCatalog()
  private var reader = ChangesetReader([])
  /// The resolved classes, by index of the name in the changeset.
  private var classes: [KnownClass?] = []
  /// The object of the previous instruction; most instructions refer to the same object again.
  private var last: (table: NameIndex, key: InstructionKey, object: ObjKey)?
  /// An object that will be created together with the values of the following instructions.
  private var pending: CreatedObject?
  private var spare: [(ColKey, Value)] = []

  private struct CreatedObject {
    let known: KnownClass
    let table: NameIndex
    let key: InstructionKey
    let primaryKey: Value
    var values: [(ColKey, Value)]
  }

  /// Creates an applier.
  public init() {}

  /// Applies one changeset to `transaction`, which must be the same for all changesets of an applier.
  ///
  /// - Throws: a `SyncError` with the reason `protocolBroken` and the instruction if the changeset does not fit the
  ///   realm; an `EngineError` if the realm could not be read or written.
  public mutating func apply(
    _ changeset: [UInt8],
    to transaction: borrowing WriteTransaction
  ) throws {
    transaction.allowUnresolvedLinks()
    reader = ChangesetReader(changeset)
    classes.removeAll(keepingCapacity: true)
    last = nil
    do {
      while let instruction = try reader.next() { try apply(instruction, transaction) }
      try finishObject(transaction)
    } catch { throw SyncError.unfit(at: "instruction \(reader.count)", error) }
  }

  private mutating func apply(
    _ instruction: Instruction,
    _ transaction: borrowing WriteTransaction
  ) throws {
    if case .edit(let place, let edit) = instruction {
      if try addToPending(place, edit) { return }
      try finishObject(transaction)
      return try self.edit(place, edit, transaction)
    }
    if case .name = instruction {
      classes.append(nil)
      return
    }
    try finishObject(transaction)
    switch instruction {
    case .createObject(let table, let key): try create(table, key, transaction)
    case .eraseObject(let table, let key): try erase(table, key, transaction)
    case .addTable(let table, let form): try addTable(table, form, transaction)
    case .addColumn(let table, let form): try addColumn(table, form, transaction)
    case .eraseTable(let table):
      let known = try find(table, transaction)
      try transaction.removeTable(known.key)
      forgetSchema()
    case .eraseColumn(let table, let name):
      let known = try find(table, transaction), column = try self.column(known, name)
      try transaction.removeColumn(known.key, column.key)
      forgetSchema()
    case .name, .edit: break
    }
  }

  // MARK: names

  private mutating func find(
    _ table: NameIndex,
    _ transaction: borrowing WriteTransaction
  ) throws -> KnownClass {
    if let known = classes[table.value] { return known }
    guard let found = try catalog.find(reader.names[table.value], transaction) else {
      throw SyncError.unfit("there is no class \(reader.text(table))")
    }
    classes[table.value] = found
    return found
  }

  private func column(_ known: KnownClass, _ name: NameIndex) throws -> Column {
    if let column = known.column(reader.names[name.value]) { return column }
    throw SyncError.unfit("class \(known.name) has no property \(reader.text(name))")
  }

  private mutating func forgetSchema() {
    catalog.forgetAll()
    for index in classes.indices { classes[index] = nil }
    last = nil
  }

  private func value(_ key: InstructionKey) -> Value {
    switch key {
    case .null, .global: .null
    case .int(let value): .int(value)
    case .string(let name): .string(reader.names[name.value])
    case .objectID(let id): .objectID(id)
    case .uuid(let id): .uuid(id)
    }
  }

  /// Returns the object that a key names; nil if it does not exist.
  private func object(
    _ known: KnownClass,
    _ key: InstructionKey,
    _ transaction: borrowing WriteTransaction
  ) throws -> ObjKey? {
    switch (key, known.primaryKey) {
    case (.global(let high, let low), nil):
      let object = GlobalKey.local(high: high, low: low)
      return try transaction.contains(known.key, object) ? object : nil
    case (.global, _), (_, nil):
      throw SyncError.unfit("the key does not have the type of the primary key of \(known.name)")
    default:
      return try transaction.objectKey(known.key, primaryKey: value(key))
    }
  }

  // MARK: schema

  private mutating func addTable(
    _ table: NameIndex,
    _ form: Instruction.TableForm,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let present = try catalog.find(reader.names[table.value], transaction)
    let kind: TableKind, key: Instruction.PrimaryKeyForm?
    switch form {
    case .embedded: (kind, key) = (.embedded, nil)
    case .topLevel(let primaryKey, let isAsymmetric):
      (kind, key) = (isAsymmetric ? .asymmetric : .topLevel, primaryKey.type == nil ? nil : primaryKey)
    }
    if let present {
      guard present.kind == kind, present.primaryKey?.name == key.map({ reader.text($0.name) }),
        present.primaryKey?.isNullable == key?.isNullable
      else { throw SyncError.unfit("class \(present.name) exists with another kind or primary key") }
      return
    }
    var properties: [ColumnSpec] = []
    if let key, let type = key.type {
      properties = [ColumnSpec(reader.text(key.name), type, isNullable: key.isNullable)]
    }
    _ = try transaction.addClass(reader.text(table), kind: kind, properties, primaryKey: properties.first?.name)
    forgetSchema()
  }

  private mutating func addColumn(
    _ table: NameIndex,
    _ form: Instruction.PropertyForm,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let known = try find(table, transaction), name = reader.text(form.name)
    var target: KnownClass?
    if form.type == .link, let wanted = form.target { target = try find(wanted, transaction) }
    if let present = known.column(reader.names[form.name.value]) {
      guard present.type == form.type, present.collection == form.collection, present.targetTable == target?.key else {
        throw SyncError.unfit("property \(known.name).\(name) exists with another type")
      }
      return
    }
    let spec = ColumnSpec(
      name,
      form.type,
      collection: form.collection,
      isNullable: form.isNullable,
      target: target?.key
    )
    _ = try transaction.addColumn(known.key, spec)
    forgetSchema()
  }

  // MARK: objects

  private mutating func create(
    _ table: NameIndex,
    _ key: InstructionKey,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let known = try find(table, transaction)
    switch known.kind {
    case .asymmetric: return
    case .embedded: throw SyncError.unfit("an object of the embedded class \(known.name) cannot be created by itself")
    case .topLevel: break
    }
    if try object(known, key, transaction) != nil { return }
    last = nil
    if case .global(let high, let low) = key {
      let object = GlobalKey.local(high: high, low: low)
      try transaction.createReplayed(known.key, key: object)
      return
    }
    pending = CreatedObject(known: known, table: table, key: key, primaryKey: value(key), values: spare)
    spare = []
  }

  /// Adds a value to the object about to be created, if the instruction sets one.
  private mutating func addToPending(
    _ place: Instruction.Place,
    _ edit: Instruction.Edit
  ) throws -> Bool {
    guard let known = pending?.known, place.path.isEmpty, case .update(.scalar(let value), _) = edit,
      pending?.table == place.table, pending?.key == place.key
    else { return false }
    let column = try self.column(known, place.field)
    if column.collection != nil || column.type == .link || column.key == known.primaryKey?.key { return false }
    if let index = pending?.values.firstIndex(where: { $0.0 == column.key }) {
      pending?.values[index].1 = value
    } else {
      pending?.values.append((column.key, value))
    }
    return true
  }

  private mutating func finishObject(_ transaction: borrowing WriteTransaction) throws {
    guard let new = pending.take() else { return }
    let made = try transaction.create(new.known.key, primaryKey: new.primaryKey, values: new.values)
    last = (new.table, new.key, made)
    spare = new.values
    spare.removeAll(keepingCapacity: true)
  }

  private mutating func erase(
    _ table: NameIndex,
    _ key: InstructionKey,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let known = try find(table, transaction)
    last = nil
    if known.kind == .asymmetric { return }
    guard let object = try object(known, key, transaction) else { return }
    try transaction.invalidate(known.key, object)
  }

  // MARK: edits

  private mutating func edit(
    _ place: Instruction.Place,
    _ edit: Instruction.Edit,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let known = try find(place.table, transaction)
    // Clients do not store objects of asymmetric classes.
    if known.kind == .asymmetric { return }
    let object: ObjKey
    if let last, last.table == place.table, last.key == place.key {
      object = last.object
    } else {
      guard let found = try self.object(known, place.key, transaction) else {
        throw SyncError.unfit("class \(known.name) has no object \(describe(place.key))")
      }
      object = found
      last = (place.table, place.key, found)
    }
    var payload: Value?
    if case .link(let table, let key) = edit.payload { payload = try link(table, key, transaction) }
    if case .scalar(let value) = edit.payload { payload = value }
    let target = try walk(place, known, object, transaction)
    do { try target.apply(edit, payload, transaction) } catch {
      throw SyncError.unfit(
        at: "\(known.name) \(describe(place.key)), property \(reader.text(place.field))",
        error
      )
    }
  }

  /// Returns a link to an object, or to the placeholder that represents the object until it is created.
  private mutating func link(
    _ table: NameIndex,
    _ key: InstructionKey,
    _ transaction: borrowing WriteTransaction
  ) throws -> Value {
    let known = try find(table, transaction)
    if let object = try object(known, key, transaction) { return .link(known.key, object) }
    if case .global(let high, let low) = key {
      let local = GlobalKey.local(high: high, low: low)
      return .link(known.key, try transaction.unresolvedObject(known.key, key: local))
    }
    return .link(known.key, try transaction.unresolvedObject(known.key, primaryKey: value(key)))
  }

  /// Follows the path of an instruction through embedded objects.
  private mutating func walk(
    _ place: Instruction.Place,
    _ known: KnownClass,
    _ object: ObjKey,
    _ transaction: borrowing WriteTransaction
  ) throws -> EditTarget {
    var target = EditTarget(known: known, object: object, column: try column(known, place.field))
    for step in place.path {
      let isOwner: Bool
      if target.column.type == .link, let key = target.column.targetTable {
        isOwner = try catalog.find(key, transaction).kind == .embedded
      } else {
        isOwner = false
      }
      if isOwner, target.column.collection == nil || !target.path.isEmpty {
        guard case .name(let name) = step else {
          throw SyncError.unfit("the path has an index where a property is expected")
        }
        guard case .link(let key, let inner) = try target.value(transaction) else {
          throw SyncError.unfit("the path leads through an embedded object that does not exist")
        }
        let owned = try catalog.find(key, transaction)
        target = EditTarget(known: owned, object: inner, column: try column(owned, name))
        continue
      }
      switch step {
      case .index(let index): target.path.append(.index(Int(index)))
      case .name(let name): target.path.append(.key(reader.names[name.value]))
      }
    }
    return target
  }

  private func describe(_ key: InstructionKey) -> String {
    switch key {
    case .null: "null"
    case .int(let value): String(value)
    case .string(let name): "\"\(reader.text(name))\""
    case .objectID(let id): id.description
    case .uuid(let id): id.description
    case .global(let high, let low): "\(high)-\(low)"
    }
  }
}

extension Instruction.Edit {
  /// The value that the edit stores.
  var payload: Instruction.Payload? {
    switch self {
    case .update(let payload, _), .updateElement(let payload, _), .insert(let payload, _), .setInsert(let payload),
      .setErase(let payload):
      payload
    case .addInteger, .move, .erase, .clear: nil
    }
  }
}
