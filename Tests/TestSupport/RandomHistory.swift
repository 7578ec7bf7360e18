// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Random transactions with every public operation, applied to a realm file and to a model in parallel. The same seed
// gives the same history.

import Foundation
public import RealmPages

/// A random history of a realm file: no real program would write it, but any could.
public struct RandomHistory {
  /// The characteristics of a history.
  public struct Settings: Sendable {
    public var commits = 40
    /// The maximum number of operations in a transaction.
    public var operations = 30
    /// The approximate maximum number of objects in a class.
    public var objects = 40
    public var encryptionKey: EncryptionKey?
    /// The number of bytes of nodes that a transaction keeps in ordinary memory; nil for the engine's default.
    public var heap: Int?
    /// True if links may occur in collections within collections.
    public var hasDeepLinks = true
    /// True if classes and properties change during the history.
    public var changesSchema = true
    /// True if invalid operations, which must be rejected, are attempted.
    public var triesForbidden = true
    /// One in this many commits is on disk when it returns.
    public var fullCommits = 20
    /// How the realm is shared.
    public var mode = Configuration.Mode.shared
    /// Wraps the storage between the engine and the file.
    package var over: @Sendable (any Storage) -> any Storage = { $0 }

    public init() {}
  }

  /// A difference between the file and the model.
  public struct Disagreement: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) { self.description = description }
  }

  public private(set) var model = RealmModel()
  /// The number of transactions committed.
  public private(set) var commits = 0
  /// The number of operations performed.
  public private(set) var operations = 0
  let settings: Settings
  private let configuration: Configuration
  private let seed: UInt64
  private var random: SplitMix64
  private var names = 0
  private var lastOperation = "none"
  private var hasBegun = false
  /// An older version that is kept open for a while, and its expected contents.
  private var held: (version: VersionHold, model: RealmModel)?

  /// Creates a history of a new file at `path`, which must not exist.
  public init(seed: UInt64, path: String, _ settings: Settings = Settings()) {
    self.seed = seed
    self.settings = settings
    configuration = Configuration(path: path, encryptionKey: settings.encryptionKey, mode: settings.mode)
    random = SplitMix64(seed: seed)
  }

  /// Creates a history that continues with the file at `path`.
  public init(seed: UInt64, continuing path: String, _ settings: Settings = Settings()) throws {
    self.init(seed: seed, path: path, settings)
    model = try RealmModel(of: Realm(configuration).latest())
    names = 100_000 + Int(seed % 1_000_000) * 1000
    hasBegun = true
  }

  /// Runs the history. `check` receives each version and the models before and after it.
  public mutating func run(_ check: (Snapshot, RealmModel, RealmModel) throws -> Void) throws {
    do {
      try live(check)
    } catch {
      throw Disagreement(
        description: "seed \(seed), commit \(commits), operation \(operations) (\(lastOperation)): \(error)"
      )
    }
  }

  private mutating func live(_ check: (Snapshot, RealmModel, RealmModel) throws -> Void) throws {
    var writer = try RealmWriter(configuration, create: true, over: settings.over, heap: settings.heap)
    while commits < settings.commits {
      let before = model
      let transaction = try writer.begin()
      if !hasBegun { try begin(transaction) }
      for _ in 0...random.below(settings.operations) {
        try step(transaction)
        operations += 1
      }
      if hasBegun && chance(12) {
        transaction.rollback()
        model = before
        continue
      }
      hasBegun = true
      let version = try transaction.commit(chance(settings.fullCommits) ? .full : .grouped)
      commits += 1
      let snapshot = try writer.realm.latest()
      if snapshot.version != version { throw Disagreement(description: "version \(snapshot.version), not \(version)") }
      try check(snapshot, before, model)
      if let held, chance(4) {
        let snapshot = held.version.snapshot
        if let difference = try held.model.difference(from: snapshot) {
          throw Disagreement(description: "version \(snapshot.version) changed: \(difference)")
        }
        self.held = nil
      }
      if held == nil && chance(6) { held = (try writer.realm.hold(), model) }
      if chance(15) {
        held = nil
        writer = try reopened(consume writer)
      }
    }
  }

  private func reopened(_ writer: consuming RealmWriter) throws -> RealmWriter {
    _ = consume writer
    return try RealmWriter(configuration, create: false, over: settings.over, heap: settings.heap)
  }

  // MARK: choices

  private mutating func chance(_ one: Int) -> Bool { random.below(one) == 0 }

  private mutating func any<C: RandomAccessCollection>(_ choices: C) -> C.Element? {
    choices.isEmpty ? nil : choices[choices.index(choices.startIndex, offsetBy: random.below(choices.count))]
  }

  /// Returns a random class for which `isWanted` holds, independent of the order of a dictionary, which varies between
  /// runs.
  private mutating func anyClass(where isWanted: (RealmModel.Class) -> Bool) -> TableKey? {
    any(model.classes.keys.filter { key in model.classes[key].map(isWanted) ?? false }.sorted())
  }

  private mutating func anyObject(of table: TableKey) -> ObjKey? {
    guard let objects = model.classes[table]?.objects, !objects.isEmpty else { return nil }
    return any(objects.keys.sorted())
  }

  // MARK: values

  private mutating func integer() -> Int64 {
    let bits = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 62, 63][random.below(13)]
    let edge = bits == 0 ? 0 : Int64.max >> Int64(63 - bits)
    switch random.below(6) {
    case 0: return edge
    case 1: return ~edge
    case 2: return edge == .max ? edge : edge + 1
    default:
      let value = Int64(truncatingIfNeeded: random.next()) & edge
      return chance(3) ? ~value : value
    }
  }

  private static let lengths = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 17, 20, 40, 62, 63, 64, 65, 66, 100, 199, 200, 300, 2000,
  ]

  private mutating func bytes(atMost limit: Int = .max) -> [UInt8] {
    var text: [UInt8] = chance(3) ? [UInt8]("commonprefix".utf8) : []
    let length = Self.lengths[random.below(Self.lengths.count)]
    if length > 150 && chance(3) { text = [UInt8](repeating: 0x61, count: 196) }
    let pieces = ["a", "b", "é", "Z", "0", " ", "\u{0}"].map { [UInt8]($0.utf8) }
    while text.count < length { text += pieces[random.below(pieces.count)] }
    // Some lengths are used exactly.
    let exact = min(limit, chance(2) ? length : .max)
    if text.count > exact { text.removeLast(text.count - exact) }
    if text.last == 0xc3 { text[text.count - 1] = 0x61 }
    return text
  }

  private mutating func scalar(_ type: ValueType) -> Value {
    switch type {
    case .int: return .int(integer())
    case .bool: return .bool(chance(2))
    case .string: return .string(bytes())
    case .data: return .data(bytes())
    case .date:
      let seconds = integer(), nanoseconds = Int32(chance(3) ? 0 : random.below(1_000_000_000))
      return .date(Timestamp(seconds: seconds, nanoseconds: seconds < 0 ? -nanoseconds : nanoseconds))
    case .float:
      return .float(
        [0, -0.0, .infinity, 1.5, Float(bitPattern: 0x7fc0_0001), Float(random.below(1000)) / 4][random.below(6)]
      )
    case .double:
      return .double(
        [0, -0.0, -.infinity, 7, Double(bitPattern: 0x7ff8 << 48 | 1), Double(random.below(1000)) / 8][random.below(6)]
      )
    case .decimal128:
      switch random.below(12) {
      case 0: return .decimal128(Decimal128(low: 0, high: 0x7800 << 48))
      case 1: return .decimal128(Decimal128(low: 1, high: 0x7c00 << 48))
      case 2: return .decimal128(Decimal128(low: random.next(), high: 0x3041 << 48 | random.next() >> 20))
      case 3: return .decimal128(Decimal128(low: random.next() >> UInt64(40), high: UInt64(random.below(0x2FFF)) << 49))
      case 4: return .decimal128(Decimal128(low: 0, high: 0x3040 << 48))
      default:
        let sign: UInt64 = chance(2) ? 1 << 63 : 0
        return .decimal128(
          Decimal128(
            low: random.next() >> UInt64(random.below(64)),
            high: UInt64(0x3040 - 2 * random.below(10)) << 48 | sign
          )
        )
      }
    case .objectID: return .objectID(ObjectID(high: chance(2) ? 5 : random.next(), low: UInt32(random.below(100))))
    case .uuid: return .uuid(UniqueID(high: chance(2) ? 5 : random.next(), low: random.next() >> 56))
    case .link, .mixed: return .null
    }
  }

  /// Returns a number that `RealmModel.sameInSet` compares exactly.
  private mutating func plainNumber() -> Value {
    switch random.below(4) {
    case 0: .int(chance(3) ? integer() : Int64(random.below(20)))
    case 1: .float(Float(random.below(160)) / 8)
    case 2: .double(Double(random.below(160)) / 8)
    default: .decimal128(Decimal128(low: UInt64(random.below(200)), high: UInt64(0x3040 - 2 * random.below(3)) << 48))
    }
  }

  private static let scalarTypes: [ValueType] = [
    .int, .bool, .string, .data, .date, .float, .double, .decimal128, .objectID, .uuid,
  ]

  /// Returns a link to an object of any class that a Mixed may link to.
  private mutating func typedLink() -> Value? {
    guard let table = anyClass(where: { $0.kind == .topLevel && !$0.objects.isEmpty }), let key = anyObject(of: table)
    else { return nil }
    return .link(table, key)
  }

  private mutating func mixed(depth: Int) -> Value {
    switch random.below(depth > 3 ? 10 : 14) {
    case 0: return .null
    case 1...6: return scalar(Self.scalarTypes[random.below(Self.scalarTypes.count)])
    case 7, 8, 9:
      if depth > 1 && !settings.hasDeepLinks { return .int(integer()) }
      return typedLink() ?? .bool(true)
    case 10, 11: return .list((0..<random.below(5)).map { _ in mixed(depth: depth + 1) })
    default:
      return .dictionary(
        (0..<random.below(5)).map { _ in Value.Entry(key: dictionaryKey(), value: mixed(depth: depth + 1)) }
      )
    }
  }

  private mutating func dictionaryKey() -> [UInt8] {
    chance(8) ? bytes().filter { $0 != 0x2e && $0 != 0x24 } : [UInt8]("k\(random.below(12))".utf8)
  }

  /// A value for a property or an element of its collection; nil if there is no object to link to.
  private mutating func value(for property: RealmModel.Property) -> Value? {
    if property.type == .link {
      guard let target = property.target else { return nil }
      if property.isNullable && chance(5) { return .null }
      return anyObject(of: target).map { .link(target, $0) }
    }
    if property.type == .mixed {
      if property.collection != .set { return mixed(depth: property.collection == nil ? 0 : 1) }
      switch random.below(6) {
      case 0: return .null
      case 1, 2, 3: return plainNumber()
      case 4: return typedLink()
      default: return scalar([.bool, .string, .data, .date, .objectID, .uuid][random.below(6)])
      }
    }
    if property.isNullable && chance(5) { return .null }
    if property.collection == .set {
      switch property.type {
      case .float: return .float(Float(random.below(160)) / 8 - 10)
      case .double: return .double(Double(random.below(160)) / 8 - 10)
      case .decimal128:
        while true { if case .decimal128(let number) = plainNumber() { return .decimal128(number) } }
      default: break
      }
    }
    if property.collection == .list && property.index != nil { return .string(bytes(atMost: 200)) }
    return scalar(property.type)
  }

  // MARK: operations

  private mutating func begin(_ transaction: borrowing WriteTransaction) throws {
    for _ in 0..<3 { try addClass(transaction, .topLevel) }
    for _ in 0..<2 { try addClass(transaction, .embedded) }
    for _ in 0..<30 + random.below(30) { try addProperty(transaction) }
    for _ in 0..<6 { try changeIndex(transaction) }
    for _ in 0..<2 { try changePrimaryKey(transaction) }
  }

  private mutating func step(_ transaction: borrowing WriteTransaction) throws {
    if settings.changesSchema && chance(25) { return try changeSchema(transaction) }
    if settings.triesForbidden && chance(20) { return try tryForbidden(transaction) }
    switch random.below(20) {
    case 0...3: try createObject(transaction)
    case 4: try deleteObject(transaction)
    default: try changeProperty(transaction)
    }
  }

  private mutating func createObject(_ transaction: borrowing WriteTransaction) throws {
    guard let table = anyClass(where: { $0.kind == .topLevel }), let known = model.classes[table] else { return }
    if known.objects.count >= settings.objects { return try deleteObject(transaction) }
    lastOperation = "create in \(known.name)"
    if let column = known.primaryKey, let property = known.property(column) {
      guard let value = value(for: property) else { return }
      lastOperation += " \(value)"
      if let other = model.object(table, primaryKey: value) {
        if try transaction.objectKey(table, primaryKey: value) != other {
          throw Disagreement(description: "\(value) is the primary key of \(other)")
        }
        return try refused(.duplicateKey) { () throws(EngineError) in
          _ = try transaction.create(table, primaryKey: value)
        }
      }
      let key = try transaction.create(table, primaryKey: value)
      if known.objects[key] != nil { throw Disagreement(description: "\(key) is in use") }
      model.create(table, key, primaryKey: value)
      return
    }
    let given: ObjKey? = chance(4) ? ObjKey(integer() & (.max - 1)) : nil
    if let given, known.objects[given] != nil {
      return try refused(.duplicateKey) { () throws(EngineError) in _ = try transaction.create(table, key: given) }
    }
    let key = try transaction.create(table, key: given)
    if known.objects[key] != nil { throw Disagreement(description: "\(key) is in use") }
    model.create(table, key)
  }

  private mutating func deleteObject(_ transaction: borrowing WriteTransaction) throws {
    guard let table = anyClass(where: { $0.kind != .embedded && !$0.objects.isEmpty }) else { return }
    let rounds = chance(30) ? 1000 : 1
    for _ in 0..<rounds {
      guard let key = anyObject(of: table) else { return }
      lastOperation = "delete \(key) of \(table)"
      try transaction.delete(table, key)
      model.remove(table, key)
    }
  }

  private mutating func changeProperty(_ transaction: borrowing WriteTransaction) throws {
    guard let table = anyClass(where: { !$0.objects.isEmpty && !$0.properties.isEmpty }),
      let object = anyObject(of: table), let known = model.classes[table], let property = any(known.properties)
    else { return }
    lastOperation =
      "change \(known.name) \(object) \(property.name) \(property.type) \(String(describing: property.collection))"
    if chance(10) {
      let found = try transaction.value(table, object, property.key)
      let wanted = model.value(table, object, property.key)
      if !RealmModel.agree(found, wanted, property) {
        throw Disagreement(description: "\(found) within the transaction instead of \(wanted)")
      }
    }
    if property.target.map({ model.classes[$0]?.kind == .embedded }) ?? false {
      return try changeEmbedded(transaction, table, object, property)
    }
    switch property.collection {
    case nil where property.key == known.primaryKey: return
    case nil where property.type == .mixed && chance(2):
      if try changeNested(transaction, table, object, property) { return }
      fallthrough
    case nil:
      guard let value = value(for: property) else { return }
      lastOperation += " = \(value)"
      try transaction.set(table, object, property.key, value)
      model.change(table, object, property.key) { $0 = RealmModel.canonical(value) }
    case .set: try changeSet(transaction, table, object, property)
    case .list, .dictionary:
      if property.type == .mixed, chance(2), try changeNested(transaction, table, object, property) { return }
      try changeCollection(transaction, table, object, property, path: [])
    }
  }

  private mutating func changeEmbedded(
    _ transaction: borrowing WriteTransaction,
    _ table: TableKey,
    _ object: ObjKey,
    _ property: RealmModel.Property
  ) throws {
    guard let target = property.target, (model.classes[target]?.objects.count ?? 0) < 4 * settings.objects else {
      return
    }
    switch property.collection {
    case nil:
      if chance(4) {
        try transaction.set(table, object, property.key, .null)
        return model.change(table, object, property.key) { $0 = .null }
      }
      let made = try transaction.setEmbedded(table, object, property.key)
      model.create(target, made)
      model.change(table, object, property.key) { $0 = .link(target, made) }
    case .list:
      let count = RealmModel.links(in: model.value(table, object, property.key)).count
      if count > 0 && chance(2) {
        return try changeCollection(transaction, table, object, property, path: [], onlyRemoves: true)
      }
      let at = random.below(count + 1)
      let made = try transaction.insertEmbedded(table, object, property.key, at: at)
      model.create(target, made)
      model.change(table, object, property.key) { $0.insert(.link(target, made), at: at) }
    case .dictionary:
      let key = dictionaryKey()
      if chance(3) { return try changeCollection(transaction, table, object, property, path: [], onlyRemoves: true) }
      let made = try transaction.setEmbedded(table, object, property.key, entry: key)
      model.create(target, made)
      model.change(table, object, property.key) { $0 = RealmModel.put(key, .link(target, made), into: $0) }
    case .set: break
    }
  }

  private mutating func changeSet(
    _ transaction: borrowing WriteTransaction,
    _ table: TableKey,
    _ object: ObjKey,
    _ property: RealmModel.Property
  ) throws {
    guard case .list(let values) = model.value(table, object, property.key) else { return }
    if chance(20) {
      try transaction.clear(table, object, property.key)
      return model.change(table, object, property.key) { $0 = .list([]) }
    }
    for _ in 0..<(chance(10) ? 60 : 1) {
      let isKnown = chance(3)
      guard let value = isKnown ? any(values) : value(for: property) else { return }
      let at = model.value(table, object, property.key).elements.firstIndex { RealmModel.sameInSet($0, value) }
      lastOperation += " \(value)"
      if isKnown || chance(3) {
        let isDone = try transaction.discard(table, object, property.key, value)
        if isDone != (at != nil) { throw Disagreement(description: "discard says \(isDone)") }
        if let at { model.change(table, object, property.key) { $0.remove(at: at) } }
      } else {
        let isNew = try transaction.add(table, object, property.key, value)
        if isNew != (at == nil) { throw Disagreement(description: "add says \(isNew)") }
        if at == nil { model.change(table, object, property.key) { $0.insert(value, at: 0) } }
      }
    }
  }

  /// Changes a collection within a Mixed; returns false if there is none.
  private mutating func changeNested(
    _ transaction: borrowing WriteTransaction,
    _ table: TableKey,
    _ object: ObjKey,
    _ property: RealmModel.Property
  ) throws -> Bool {
    var path: [PathStep] = [], place = model.value(table, object, property.key)
    if property.collection != nil {
      guard descend(&path, &place) else { return false }
    } else if !place.isCollection {
      return false
    }
    while chance(2), descend(&path, &place) {}
    try changeCollection(transaction, table, object, property, path: path)
    return true
  }

  private mutating func descend(_ path: inout [PathStep], _ place: inout Value) -> Bool {
    switch place {
    case .list(let values):
      guard let index = any(values.indices.filter { values[$0].isCollection }) else { return false }
      path.append(.index(index))
      place = values[index]
    case .dictionary(let entries):
      guard let entry = any(entries.filter { $0.value.isCollection }) else { return false }
      path.append(.key(entry.key))
      place = entry.value
    default: return false
    }
    return true
  }

  /// Changes a list or dictionary.
  private mutating func changeCollection(
    _ transaction: borrowing WriteTransaction,
    _ table: TableKey,
    _ object: ObjKey,
    _ property: RealmModel.Property,
    path: [PathStep],
    onlyRemoves: Bool = false
  ) throws {
    var place = Value.null
    var whole = model.value(table, object, property.key)
    RealmModel.change(&whole, at: path[...]) { place = $0 }
    let key = property.key
    lastOperation += " \(path)"
    func edit(_ model: inout RealmModel, _ body: (inout Value) -> Void) {
      model.change(table, object, key) { RealmModel.change(&$0, at: path[...], body) }
    }
    if chance(12) {
      lastOperation += " clear"
      try transaction.clear(table, object, key, path: path)
      return edit(&model) { $0.clear() }
    }
    func element(_ history: inout Self) -> Value? {
      // A collection in a property's Mixed is a separate level.
      path.isEmpty && property.collection != nil
        ? history.value(for: property) : history.mixed(depth: path.count + 1)
    }
    switch place {
    case .list(let values):
      let count = values.count
      if try transaction.count(table, object, key, path: path) != count { throw Disagreement(description: "count") }
      switch random.below(onlyRemoves ? 2 : 8) {
      case 0 where count > 0:
        for _ in 0..<(chance(8) ? count / 2 + 1 : 1) {
          let left = count == 0 ? 0 : try transaction.count(table, object, key, path: path)
          if left == 0 { break }
          let at = random.below(left)
          lastOperation += " remove \(at)"
          try transaction.remove(table, object, key, path: path, at: at)
          edit(&model) { $0.remove(at: at) }
        }
      case 1 where count > 0:
        let from = random.below(count), to = random.below(count)
        lastOperation += " move \(from) \(to)"
        try transaction.move(table, object, key, path: path, from: from, to: to)
        edit(&model) { $0.insert($0.remove(at: from), at: to) }
      case 2, 3:
        guard count > 0, let value = element(&self) else { return }
        let at = random.below(count)
        lastOperation += " set \(at) \(value)"
        try transaction.set(table, object, key, path: path, at: at, value)
        edit(&model) { $0.replace(at: at, RealmModel.canonical(value)) }
      default:
        if onlyRemoves { return }
        var end = count
        for _ in 0..<(path.isEmpty && chance(25) && count < 2500 ? 600 : 1) {
          guard let value = element(&self) else { return }
          let at = random.below(end + 1)
          lastOperation = "insert \(table) \(object) \(property.name) \(path) \(at) of \(end) \(value)"
          try transaction.insert(table, object, key, path: path, at: at, value)
          edit(&model) { $0.insert(RealmModel.canonical(value), at: at) }
          end += 1
        }
      }
    case .dictionary(let entries):
      if try transaction.count(table, object, key, path: path) != entries.count {
        throw Disagreement(description: "count")
      }
      let name = chance(2) ? any(entries)?.key ?? dictionaryKey() : dictionaryKey()
      if onlyRemoves || chance(3) {
        lastOperation += " remove \(name)"
        let isDone = try transaction.remove(table, object, key, path: path, entry: name)
        if isDone != entries.contains(where: { $0.key == name }) {
          throw Disagreement(description: "remove says \(isDone)")
        }
        edit(&model) { $0.remove(key: name) }
      } else {
        guard let value = element(&self) else { return }
        lastOperation += " set \(name) \(value)"
        try transaction.set(table, object, key, path: path, entry: name, value)
        edit(&model) { $0 = RealmModel.put(name, RealmModel.canonical(value), into: $0) }
      }
    default: break
    }
  }

  // MARK: schema

  private mutating func changeSchema(_ transaction: borrowing WriteTransaction) throws {
    switch random.below(14) {
    case 0: if model.classes.count < 9 { try addClass(transaction, chance(3) ? .embedded : .topLevel) }
    case 1:
      guard chance(3), model.classes.count > 4, let table = anyClass(where: { _ in true }) else { return }
      lastOperation = "remove class \(table)"
      if model.classes.contains(where: { $0.key != table && $0.value.properties.contains { $0.target == table } }) {
        return try refused(.badSchema) { () throws(EngineError) in try transaction.removeTable(table) }
      }
      try transaction.removeTable(table)
      model.removeClass(table)
    case 2:
      guard let table = anyClass(where: { _ in true }) else { return }
      let name = newName("class_C")
      lastOperation = "rename class \(table)"
      try transaction.renameTable(table, to: name)
      model.classes[table]?.name = name
    case 3, 4: try addProperty(transaction)
    case 5:
      guard let table = anyClass(where: { $0.properties.count > 3 }),
        let property = any(model.classes[table]?.properties ?? [])
      else { return }
      lastOperation = "remove property \(table) \(property.name)"
      try transaction.removeColumn(table, property.key)
      model.removeProperty(table, property.key)
    case 6:
      guard let (table, index) = anyProperty() else { return }
      let name = newName("p")
      lastOperation = "rename property \(table) \(name)"
      try transaction.renameColumn(table, model.classes[table]?.properties[index].key ?? ColKey(0), to: name)
      model.classes[table]?.properties[index].name = name
    case 7, 8, 9: try changeIndex(transaction)
    case 10: try changePrimaryKey(transaction)
    case 11, 12: try changeNullability(transaction)
    default:
      let version = random.next() >> UInt64(1 + random.below(63))
      lastOperation = "schema version \(version)"
      try transaction.setSchemaVersion(version)
      model.schemaVersion = version
      if let key = try transaction.tableKey(named: "metadata") { model.otherTables.insert(key) }
    }
  }

  private mutating func newName(_ prefix: String) -> String {
    names += 1
    let name = "\(prefix)\(names)"
    return chance(6) ? name + String(repeating: "x", count: 63 - name.utf8.count) : name
  }

  private mutating func anyProperty() -> (TableKey, Int)? {
    guard let table = anyClass(where: { !$0.properties.isEmpty }), let count = model.classes[table]?.properties.count
    else { return nil }
    return (table, random.below(count))
  }

  private mutating func addClass(_ transaction: borrowing WriteTransaction, _ kind: TableKind) throws {
    let name = newName("class_C")
    lastOperation = "add class \(name)"
    let key = try transaction.addTable(name, kind: kind)
    if model.classes[key] != nil { throw Disagreement(description: "table key \(key) is in use") }
    model.classes[key] = RealmModel.Class(name: name, kind: kind)
  }

  private mutating func addProperty(_ transaction: borrowing WriteTransaction) throws {
    guard let table = anyClass(where: { $0.properties.count < 40 }) else { return }
    let types = Self.scalarTypes + [.mixed, .mixed, .mixed, .link, .link, .link, .link, .string]
    let type = types[random.below(types.count)]
    let collection = [nil, nil, .list, .set, .dictionary][random.below(5)] as CollectionKind?
    var spec = ColumnSpec(newName("p"), type, collection: collection, isNullable: chance(2))
    if type == .link {
      guard let target = anyClass(where: { $0.kind != .asymmetric }) else { return }
      spec.target = target
      if collection == .set && model.classes[target]?.kind == .embedded {
        return try refused(.badSchema) { () throws(EngineError) in _ = try transaction.addColumn(table, spec) }
      }
    }
    lastOperation = "add property \(spec) to \(table)"
    let key = try transaction.addColumn(table, spec)
    let isNullable =
      type == .mixed || (type == .link ? collection == nil || collection == .dictionary : spec.isNullable)
    let property = RealmModel.Property(
      name: spec.name,
      key: key,
      type: type,
      collection: collection,
      isNullable: isNullable,
      target: spec.target,
      index: nil
    )
    if model.classes[table]?.property(key) != nil { throw Disagreement(description: "column key \(key) is in use") }
    model.classes[table]?.properties.append(property)
    for object in model.classes[table]?.objects.keys.map({ $0 }) ?? [] {
      model.classes[table]?.objects[object]?[key] = property.defaultValue
    }
  }

  private mutating func changeIndex(_ transaction: borrowing WriteTransaction) throws {
    guard let (table, index) = anyProperty(), let known = model.classes[table] else { return }
    let property = known.properties[index]
    if property.index != nil && chance(2) {
      lastOperation = "remove index \(known.name).\(property.name)"
      try transaction.removeIndex(table, property.key)
      model.classes[table]?.properties[index].index = nil
      return
    }
    let kind: IndexKind = chance(3) ? .fullText : .general
    lastOperation = "add index \(known.name).\(property.name) \(kind)"
    let isAllowed: Bool
    switch (property.type, property.collection, kind) {
    case (.string, nil, .fullText): isAllowed = property.key != known.primaryKey
    case (.string, nil, _), (.string, .list, .general): isAllowed = true
    case (.int, nil, .general), (.bool, nil, .general), (.date, nil, .general), (.objectID, nil, .general),
      (.uuid, nil, .general), (.mixed, nil, .general):
      isAllowed = true
    default: isAllowed = false
    }
    if !isAllowed {
      return try refused(.badSchema) { () throws(EngineError) in
        try transaction.addIndex(table, property.key, kind)
      }
    }
    let isTooLong =
      property.collection == .list
      && known.objects.values.contains { values in
        (values[property.key]?.elements ?? []).contains {
          if case .string(let text) = $0 { text.count > 200 } else { false }
        }
      }
    if isTooLong {
      return try refused(.overLimit) { () throws(EngineError) in
        try transaction.addIndex(table, property.key, kind)
      }
    }
    try transaction.addIndex(table, property.key, kind)
    model.classes[table]?.properties[index].index = kind
  }

  private mutating func changeNullability(_ transaction: borrowing WriteTransaction) throws {
    guard let (table, index) = anyProperty(), let known = model.classes[table] else { return }
    let property = known.properties[index], isNullable = !property.isNullable
    lastOperation = "\(known.name).\(property.name) is \(isNullable ? "optional" : "required")"
    if property.type == .link || property.type == .mixed {
      return try refused(.badSchema) { () throws(EngineError) in
        _ = try transaction.setNullable(table, property.key, isNullable)
      }
    }
    if known.primaryKey == property.key, !isNullable,
      [.null, property.defaultElement].allSatisfy({ model.object(table, primaryKey: $0) != nil })
    {
      return try refused(.duplicateKey) { () throws(EngineError) in
        _ = try transaction.setNullable(table, property.key, isNullable)
      }
    }
    let new = try transaction.setNullable(table, property.key, isNullable)
    model.setNullable(table, property.key, isNullable, newKey: new)
  }

  private mutating func changePrimaryKey(_ transaction: borrowing WriteTransaction) throws {
    guard let table = anyClass(where: { $0.kind == .topLevel }), let known = model.classes[table] else { return }
    let candidates = known.properties.filter {
      $0.collection == nil && [.int, .string, .objectID, .uuid].contains($0.type)
    }
    guard !chance(3), let property = any(candidates) else {
      lastOperation = "no primary key \(table)"
      try transaction.setPrimaryKey(table, nil)
      model.classes[table]?.primaryKey = nil
      return
    }
    lastOperation = "primary key \(known.name).\(property.name)"
    if property.index == .fullText {
      return try refused(.badSchema) { () throws(EngineError) in
        try transaction.setPrimaryKey(table, property.key)
      }
    }
    let values = known.objects.values.compactMap { $0[property.key] }
    if Set(values).count < values.count {
      return try refused(.duplicateKey) { () throws(EngineError) in
        try transaction.setPrimaryKey(table, property.key)
      }
    }
    try transaction.setPrimaryKey(table, property.key)
    model.classes[table]?.primaryKey = property.key
  }

  // MARK: refusals

  private func refused(
    _ reason: EngineError.Reason,
    _ body: () throws(EngineError) -> Void
  ) throws {
    do throws(EngineError) {
      try body()
    } catch {
      if error.reason == reason { return }
      throw Disagreement(description: "refused as \(error.reason) instead of \(reason): \(error)")
    }
    throw Disagreement(description: "not refused as \(reason)")
  }

  /// Attempts an operation that must be rejected and must have no effect.
  private mutating func tryForbidden(_ transaction: borrowing WriteTransaction) throws {
    guard let table = anyClass(where: { !$0.objects.isEmpty && !$0.properties.isEmpty }),
      let object = anyObject(of: table), let known = model.classes[table], let property = any(known.properties)
    else { return }
    let key = property.key
    let isEmbedded = property.target.map { model.classes[$0]?.kind == .embedded } ?? false
    let gone = ObjKey(0x7654_3210_1234_5678)
    lastOperation = "forbidden: \(known.name) \(object) \(property.name) \(property.type)"
    switch random.below(9) {
    case 0:
      if property.collection == nil && property.type != .mixed && key != known.primaryKey {
        try refused(.wrongType) { () throws(EngineError) in
          try transaction.set(table, object, key, .list([]))
        }
      }
    case 1:
      if isEmbedded && property.collection == nil {
        try refused(.notFound) { () throws(EngineError) in _ = try transaction.setEmbedded(table, gone, key) }
      }
      if isEmbedded && property.collection == .list {
        try refused(.notFound) { () throws(EngineError) in
          _ = try transaction.insertEmbedded(table, object, key, at: 1_000_000)
        }
      }
      if isEmbedded && property.collection == .dictionary {
        try refused(.overLimit) { () throws(EngineError) in
          _ = try transaction.setEmbedded(table, object, key, entry: [0x24])
        }
      }
    case 2:
      if property.type == .mixed && property.collection == nil {
        let unknown = Value.link(table, gone)
        try refused(known.kind == .embedded ? .forbidden : .notFound) { () throws(EngineError) in
          try transaction.set(table, object, key, .list([.int(1), .dictionary([.init(key: [0x61], value: unknown)])]))
        }
        try refused(.overLimit) { () throws(EngineError) in
          try transaction.set(table, object, key, .list([.int(1), .dictionary([.init(key: [0x24], value: .null)])]))
        }
        var deep = Value.int(1)
        for _ in 0..<101 { deep = .list([deep]) }
        try refused(.overLimit) { () throws(EngineError) in try transaction.set(table, object, key, deep) }
      }
      if property.type == .mixed && property.collection == .list {
        try refused(known.kind == .embedded ? .forbidden : .notFound) { () throws(EngineError) in
          try transaction.insert(table, object, key, at: 0, .list([.int(1), .link(table, gone)]))
        }
      }
    case 3:
      if property.collection == .list {
        let count = model.value(table, object, key).elements.count
        try refused(.notFound) { () throws(EngineError) in try transaction.remove(table, object, key, at: count) }
        try refused(.notFound) { () throws(EngineError) in
          try transaction.move(table, object, key, from: count, to: 0)
        }
        try refused(.notFound) { () throws(EngineError) in
          try transaction.move(table, object, key, from: count, to: count)
        }
        try refused(.notFound) { () throws(EngineError) in
          try transaction.move(table, object, key, from: -1, to: -1)
        }
        if property.index != nil {
          try refused(.overLimit) { () throws(EngineError) in
            try transaction.insert(table, object, key, at: 0, .string([UInt8](repeating: 0x62, count: 201)))
          }
          if count > 0 {
            try refused(.overLimit) { () throws(EngineError) in
              try transaction.set(table, object, key, at: 0, .string([UInt8](repeating: 0x62, count: 201)))
            }
          }
        }
      }
    case 4:
      try refused(known.kind == .embedded ? .forbidden : .notFound) { () throws(EngineError) in
        try transaction.delete(table, gone)
      }
    case 5:
      try refused(.badSchema) { () throws(EngineError) in _ = try transaction.addTable(known.name) }
      try refused(.badSchema) { () throws(EngineError) in
        _ = try transaction.addColumn(table, ColumnSpec(property.name, .int))
      }
      try refused(.overLimit) { () throws(EngineError) in
        _ = try transaction.addTable("class_" + String(repeating: "n", count: 58))
      }
      try refused(.overLimit) { () throws(EngineError) in
        try transaction.renameColumn(table, key, to: String(repeating: "n", count: 64))
      }
    case 6:
      let none = ColKey(0x7FFF_FFFF)
      try refused(.notFound) { () throws(EngineError) in try transaction.removeIndex(table, none) }
      try refused(.notFound) { () throws(EngineError) in try transaction.removeColumn(table, none) }
      try refused(.notFound) { () throws(EngineError) in try transaction.set(table, object, none, .null) }
      try refused(.notFound) { () throws(EngineError) in try transaction.removeTable(TableKey(60000)) }
    case 7:
      if let column = known.primaryKey {
        try refused(.forbidden) { () throws(EngineError) in try transaction.set(table, object, column, .null) }
      }
    default:
      let isPrimary = property.collection == nil && key == known.primaryKey
      try refused(isPrimary ? .forbidden : property.collection == nil ? .notFound : .wrongType) {
        () throws(EngineError) in
        try transaction.set(table, gone, key, property.defaultValue)
      }
    }
  }
}

extension Value {
  /// The elements of a list; empty for other values.
  var elements: [Value] { if case .list(let values) = self { values } else { [] } }

  var isCollection: Bool {
    switch self {
    case .list, .dictionary: true
    default: false
    }
  }

  fileprivate mutating func insert(_ value: Value, at index: Int) {
    var values = elements
    self = .null
    values.insert(value, at: index)
    self = .list(values)
  }

  @discardableResult
  fileprivate mutating func remove(at index: Int) -> Value {
    var values = elements
    self = .null
    let removed = values.remove(at: index)
    self = .list(values)
    return removed
  }

  fileprivate mutating func replace(at index: Int, _ value: Value) {
    var values = elements
    self = .null
    values[index] = value
    self = .list(values)
  }

  fileprivate mutating func remove(key: [UInt8]) {
    if case .dictionary(let entries) = self { self = .dictionary(entries.filter { $0.key != key }) }
  }

  fileprivate mutating func clear() {
    if case .dictionary = self { self = .dictionary([]) } else { self = .list([]) }
  }
}
