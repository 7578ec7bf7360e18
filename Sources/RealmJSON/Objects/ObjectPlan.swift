// The difference between a text and an object, as a list of single changes in the order of their application. List
// positions are those at the time of the change: elements are replaced before any is inserted or removed, and the
// content of an element is changed before that.

import RealmPages

/// One change to an object.
struct PatchStep {
  enum Change {
    /// Sets the target of the path: the property itself, an element or an entry.
    case put(Value)
    /// Inserts an element before the target of the path.
    case insert(Value)
    /// Removes the element or entry at the path.
    case remove
    /// Empties the collection at the path.
    case clear
    /// Adds a value to a set, or removes it.
    case add(Value)
    case discard(Value)
    /// Creates an embedded object in the property or entry, or before the element.
    case embed
  }

  let table: TableKey
  let object: ObjKey
  let column: Column
  let path: [PathStep]
  /// The node of the value in the text.
  let node: Int
  let depth: Int
  let change: Change
}

/// Computes the difference between a text and an object, and applies it.
///
/// An object that does not exist yet is planned as `unmade`: the values that it can be created with are collected in
/// `values`, and its embedded objects are steps.
struct ObjectPlan {
  /// The maximum nesting of collections and embedded objects, the same as for rendering.
  static let depthLimit = 200

  let text: JSONText
  let patcher: ObjectPatcher
  let missingLinks: MissingLinks
  private(set) var steps: [PatchStep] = []
  /// The values that the new object is created with.
  private(set) var values: [(ColKey, Value)] = []
  private var missing = 0
  /// The required properties of new objects that the text omits.
  private var defaulted: [RequiredProperty] = []

  /// The name by which links refer to the object to be created. If the text contains such a link, the object must be
  /// created before it is planned.
  var ownName: (table: TableKey, key: Value)?

  /// The placeholder for the key of an object that does not exist yet.
  static let unmade = ObjKey.none

  private var schemas: SchemaCache { patcher.schemas }

  init(_ text: JSONText, _ patcher: ObjectPatcher, _ missingLinks: MissingLinks) {
    self.text = text
    self.patcher = patcher
    self.missingLinks = missingLinks
  }

  /// A property of an object, and a path inside it.
  private struct Place {
    let schema: CachedClass
    let object: ObjKey
    let column: Column
    var path: [PathStep] = []

    /// True if this is a property, not a part of it, of an object that does not exist yet.
    var isUnmade: Bool { object == ObjectPlan.unmade && path.isEmpty }

    func at(_ step: PathStep) -> Place {
      Place(schema: schema, object: object, column: column, path: path + [step])
    }
  }

  private mutating func add(_ change: PatchStep.Change, _ place: Place, _ node: Int, depth: Int = 0) {
    steps.append(
      PatchStep(
        table: place.schema.key,
        object: place.object,
        column: place.column,
        path: place.path,
        node: node,
        depth: depth,
        change: change
      )
    )
  }

  private func format<R>(_ node: Int, _ body: () throws(EngineError) -> R) throws(InputError) -> R {
    do { return try body() } catch { throw text.error(error, at: node) }
  }

  // MARK: objects

  /// Plans an object. An object that `isNew` has default values and is not read; the same applies to `unmade`.
  mutating func addObject(
    _ node: Int,
    _ schema: CachedClass,
    _ object: ObjKey,
    isNew: Bool,
    mode: WriteMode,
    depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    try checkDepth(depth, node)
    if object == Self.unmade { values.reserveCapacity(schema.columns.count) }
    var isNamed = [Bool](repeating: false, count: schema.columns.count)
    var expected = 0
    for (name, value) in text.members(node) {
      if depth == 0, !patcher.ignoredMembers.isEmpty, isTypeName(name),
        patcher.ignoredMembers.contains(text.fullString(name))
      {
        continue
      }
      let index = try propertyIndex(name, schema, expected)
      expected = index + 1
      isNamed[index] = true
      // The primary key was compared earlier.
      if index == schema.primaryKeyIndex { continue }
      if object == Self.unmade, schema.isScalar[index], text.kind(value) != .null {
        values.append((schema.columns[index].key, try text.scalar(value, as: schema.columns[index].type)))
        continue
      }
      let stored = isNew ? nil : try schemas.value(schema, object, index, transaction)
      let place = Place(schema: schema, object: object, column: schema.columns[index])
      try addProperty(value, place, stored, depth, transaction)
    }
    if isNew {
      for index in schema.required where !isNamed[index] {
        defaulted.append(RequiredProperty(schema.key, schema.columns[index].key))
      }
    }
    if isNew || mode == .patch { return }
    for index in schema.columns.indices where !isNamed[index] && index != schema.primaryKeyIndex {
      let place = Place(schema: schema, object: object, column: schema.columns[index])
      try addDefault(node, place, schemas.value(schema, object, index, transaction))
    }
  }

  private func checkDepth(_ depth: Int, _ node: Int) throws(InputError) {
    if depth > Self.depthLimit {
      throw text.error(.overLimit, at: node, "more than \(Self.depthLimit) levels of objects and collections")
    }
  }

  /// Returns the index of the property with the name in the text. Most texts list properties in schema order, so
  /// `expected` is tried first.
  private func propertyIndex(_ name: Int, _ schema: CachedClass, _ expected: Int) throws(InputError) -> Int {
    let bytes = text.content(name)
    if expected < schema.names.count, isEqual(schema.names[expected], bytes) { return expected }
    if let index = schema.names.firstIndex(where: { isEqual($0, bytes) }) { return index }
    let known = KnownNames(schema.columns.map(\.name)).hint(for: String(decoding: bytes, as: UTF8.self))
    throw text.error(
      .unknownProperty,
      at: name,
      "class \(schema.name) has no property \"\(text.shown(name))\"; \(known)"
    )
  }

  private func isEqual(_ name: [UInt8], _ bytes: ArraySlice<UInt8>) -> Bool {
    name.count == bytes.count && name.elementsEqual(bytes)
  }

  private mutating func addDefault(_ node: Int, _ place: Place, _ stored: ValueView) throws(InputError) {
    if let value = place.column.defaultValue {
      if try !format(node, { () throws(EngineError) in try value.rendersAs(stored) }) {
        add(.put(value), place, node)
      }
    } else if !stored.isEmpty {
      add(.clear, place, node)
    }
  }

  // MARK: properties

  private mutating func addProperty(
    _ node: Int,
    _ place: Place,
    _ stored: ValueView?,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    let column = place.column
    guard let collection = column.collection else {
      if column.type == .mixed {
        try addMixed(node, place, stored, depth, transaction)
      } else if let target = try embeddedClass(column, transaction) {
        try addEmbedded(node, place, target, stored, depth, transaction)
      } else {
        try addValue(element(node, column, transaction) ?? .null, node, place, stored)
      }
      return
    }
    try checkDepth(depth + 1, node)
    if text.kind(node) == .null {
      if let stored, !stored.isEmpty { add(.clear, place, node) }
      return
    }
    switch collection {
    case .list:
      try checkIsArray(node)
      var list: ListView?
      if case .list(let view) = stored { list = view }
      if let target = try embeddedClass(column, transaction) {
        try addEmbeddedList(node, place, target, list, depth + 1, transaction)
      } else {
        try addList(node, place, list, depth + 1, transaction)
      }
    case .set:
      try checkIsArray(node)
      var set: ListView?
      if case .set(let view) = stored { set = view }
      try addSet(node, place, set, depth + 1, transaction)
    case .dictionary:
      var dictionary: DictionaryView?
      if case .dictionary(let view) = stored { dictionary = view }
      try addDictionary(node, place, dictionary, depth + 1, transaction)
    }
  }

  private func checkIsArray(_ node: Int) throws(InputError) {
    if text.kind(node) != .array { throw text.mismatch(node, "an array") }
  }

  /// Plans one value. A property of a new object is null if it is nullable.
  private mutating func addValue(
    _ value: Value,
    _ node: Int,
    _ place: Place,
    _ stored: ValueView?
  ) throws(InputError) {
    if let stored {
      // A link that is shown as a value must be cleared, even though its target does not exist yet.
      let isHidden = if case .link(_, let key) = stored { isHidden(key) || !key.isUnresolved } else { true }
      if isHidden || value != .null, try format(node, { () throws(EngineError) in try value.rendersAs(stored) }) {
        return
      }
    } else if case .null = value {
      return
    }
    if place.isUnmade { values.append((place.column.key, value)) } else { add(.put(value), place, node) }
  }

  private func embeddedClass(
    _ column: Column,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> CachedClass? {
    guard column.type == .link, let key = column.targetTable else { return nil }
    let schema = try schemas.schema(key, transaction)
    return schema.kind == .embedded ? schema : nil
  }

  // MARK: values

  /// Returns the value for a property or element of the column's type; nil for a link that is omitted.
  private mutating func element(
    _ node: Int,
    _ column: Column,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> Value? {
    if text.kind(node) == .null {
      if column.isNullable || column.type == .mixed { return .null }
      let example = try example(column, transaction)
      throw text.error(.wrongType, at: node, "expected \(example), found null, but \(column.name) is required")
    }
    switch column.type {
    case .mixed: return try mixed(node, 0, transaction)
    case .link:
      guard let key = column.targetTable else { throw text.mismatch(node, "null") }
      return try link(node, schemas.schema(key, transaction), transaction)
    default: return try text.scalar(node, as: column.type)
    }
  }

  private func example(_ column: Column, _ transaction: borrowing WriteTransaction) throws(InputError) -> String {
    guard column.type == .link, let key = column.targetTable else { return JSONText.example(of: column.type) }
    return "the primary key of a \(try schemas.schema(key, transaction).name)"
  }

  /// Returns the value of a Mixed, including nested collections.
  private mutating func mixed(
    _ node: Int,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> Value {
    try checkDepth(depth, node)
    if let scalar = try text.untyped(node) { return scalar }
    if text.kind(node) == .array {
      var values: [Value] = []
      values.reserveCapacity(text.count(node))
      for element in text.elements(node) { values.append(try mixed(element, depth + 1, transaction)) }
      return .list(values)
    }
    if let reference = reference(node) {
      guard let target = try schemas.schema(named: text.fullString(reference.type), transaction) else {
        throw text.error(.linkTargetMissing, at: reference.type, "there is no class \"\(text.shown(reference.type))\"")
      }
      return try link(reference.id, target, transaction, isReference: true) ?? .null
    }
    guard let entries = try entries(node) else {
      throw text.error(
        .wrongType,
        at: node,
        "\(text.describe(node)) is not Extended JSON; put a dictionary with $ names into {\"$dictionary\": {..}}"
      )
    }
    var values: [Value.Entry] = []
    values.reserveCapacity(entries.count)
    for entry in entries {
      values.append(Value.Entry(key: Array(entry.key), value: try mixed(entry.node, depth + 1, transaction)))
    }
    return .dictionary(values)
  }

  // MARK: links

  /// Returns the nodes of `{"$ref": type, "$id": id}`; nil for anything else.
  private func reference(_ node: Int) -> (type: Int, id: Int)? {
    guard text.kind(node) == .object, text.count(node) == 2, let type = text.member("$ref", of: node),
      let id = text.member("$id", of: node), text.isString(type)
    else { return nil }
    return (type, id)
  }

  /// Returns the link that a node specifies; nil if its target does not exist and such links are omitted.
  private mutating func link(
    _ node: Int,
    _ target: CachedClass,
    _ transaction: borrowing WriteTransaction,
    isReference: Bool = false
  ) throws(InputError) -> Value? {
    if let made = patcher.linked[node] { return made }
    var id = node, isReference = isReference
    if !isReference, let reference = reference(node) {
      if !text.content(reference.type).elementsEqual(target.name.utf8) {
        throw text.error(
          .wrongType,
          at: reference.type,
          "expected a \(target.name), found a \(text.shown(reference.type))"
        )
      }
      (id, isReference) = (reference.id, true)
    }
    if target.kind == .embedded {
      throw text.error(.wrongType, at: node, "class \(target.name) is embedded: nothing can link to its objects")
    }
    var isOwnName = false, primaryKey: Value?
    if let object = try targetKey(id, target, transaction, &primaryKey, &isOwnName) { return .link(target.key, object) }
    if missingLinks == .expect, !isOwnName, let primaryKey {
      do {
        return .link(target.key, try transaction.expectedObject(target.key, primaryKey: primaryKey))
      } catch { throw text.error(error, at: node) }
    }
    if missingLinks == .leaveOut, !isOwnName {
      missing += 1
      return nil
    }
    let key = text.kind(id) == .null ? "null" : "\"\(text.shown(id))\""
    throw text.error(
      .linkTargetMissing,
      at: node,
      "there is no \(target.name) with the \(target.primaryKey == nil ? "object" : "primary") key \(key); "
        + "create it first, or write null"
    )
  }

  private func targetKey(
    _ id: Int,
    _ target: CachedClass,
    _ transaction: borrowing WriteTransaction,
    _ primaryKey: inout Value?,
    _ isOwnName: inout Bool
  ) throws(InputError) -> ObjKey? {
    guard let column = target.primaryKey else {
      guard case .int(let named) = try text.scalar(id, as: .int) else { return nil }
      let key = patcher.renumbered[ObjectReference(table: target.key, key: ObjKey(named))] ?? ObjKey(named)
      if let ownName { isOwnName = ownName.table == target.key && ownName.key == .int(key.value) }
      return try schemas.contains(target, key, transaction) ? key : nil
    }
    let key: Value
    if text.kind(id) == .null {
      if !column.isNullable { throw text.mismatch(id, "the primary key of a \(target.name)") }
      key = .null
    } else {
      key = try text.scalar(id, as: column.type)
    }
    if let ownName { isOwnName = ownName.table == target.key && ownName.key == key }
    primaryKey = key
    do { return try transaction.objectKey(target.key, primaryKey: key) } catch {
      throw text.error(error, at: id)
    }
  }

  // MARK: collections

  /// Plans a Mixed: a collection is changed in place if the stored value is a collection of the same kind.
  private mutating func addMixed(
    _ node: Int,
    _ place: Place,
    _ stored: ValueView?,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    try checkDepth(depth, node)
    switch stored {
    case .list(let list) where text.kind(node) == .array:
      try addList(node, place, list, depth + 1, transaction)
    case .dictionary(let dictionary) where text.kind(node) == .object && reference(node) == nil:
      if try text.untyped(node) == nil, try entries(node) != nil {
        try addDictionary(node, place, dictionary, depth + 1, transaction)
      } else {
        try addValue(mixed(node, depth, transaction), node, place, stored)
      }
    default: try addValue(mixed(node, depth, transaction), node, place, stored)
    }
  }

  private mutating func addList(
    _ node: Int,
    _ place: Place,
    _ stored: ListView?,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    var items: [(node: Int, value: Value)] = []
    items.reserveCapacity(text.count(node))
    for element in text.elements(node) {
      if let value = try self.element(element, place.column, transaction) { items.append((element, value)) }
    }
    guard var list = stored, list.count > 0 else {
      if place.isUnmade {
        if !items.isEmpty { values.append((place.column.key, .list(items.map(\.value)))) }
        return
      }
      for (index, item) in items.enumerated() { add(.insert(item.value), place.at(.index(index)), item.node) }
      return
    }
    if try showsOnly(items.map(\.value), list, node, place) { return }
    if items.isEmpty {
      add(.clear, place, node)
      return
    }
    let difference = try format(node) { () throws(EngineError) in
      try ListDifference(old: list.count, new: items.count) { (old, new) throws(EngineError) in
        try items[new].value.rendersAs(list.value(at: old))
      }
    }
    for index in difference.replaced {
      let (node, value) = items[index]
      let old = try format(node) { () throws(EngineError) in try list.value(at: index) }
      if place.column.type == .mixed {
        try addMixed(node, place.at(.index(index)), old, depth, transaction)
      } else {
        try addValue(value, node, place.at(.index(index)), old)
      }
    }
    for index in difference.inserted { add(.insert(items[index].value), place.at(.index(index)), items[index].node) }
    for index in difference.removed.reversed() { add(.remove, place.at(.index(index)), node) }
  }

  /// True if a link with this key is hidden because its target does not exist.
  private func isHidden(_ key: ObjKey) -> Bool { key.isUnresolved && !(missingLinks == .expect && key.isExpected) }

  /// True if the visible elements of a list of links are `values`; links to objects that do not exist yet are hidden.
  private func showsOnly(
    _ values: [Value],
    _ list: ListView,
    _ node: Int,
    _ place: Place
  ) throws(InputError) -> Bool {
    guard place.column.type == .link, values.count < list.count else { return false }
    return try format(node) { () throws(EngineError) in
      var list = list
      var next = 0
      for index in 0..<list.count {
        let element = try list.value(at: index)
        if case .link(_, let key) = element, isHidden(key) { continue }
        guard next < values.count, try values[next].rendersAs(element) else { return false }
        next += 1
      }
      return next == values.count
    }
  }

  private mutating func addSet(
    _ node: Int,
    _ place: Place,
    _ stored: ListView?,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    var present: [Value] = []
    if var set = stored {
      for index in 0..<set.count {
        let value = try format(node) { () throws(EngineError) in try Value(copying: set.value(at: index)) }
        // A set of links hides those to objects that do not exist yet.
        if place.column.type == .link, case .link(_, let key) = value, isHidden(key) { continue }
        present.append(value)
      }
    }
    var wanted: [(node: Int, value: Value)] = []
    for element in text.elements(node) {
      let isCollection = text.kind(element) == .array
      if isCollection { throw text.mismatch(element, "one value; a set holds no collections") }
      guard let value = try self.element(element, place.column, transaction) else { continue }
      if case .dictionary = value { throw text.mismatch(element, "one value; a set holds no collections") }
      wanted.append((element, value))
    }
    if place.isUnmade {
      if !wanted.isEmpty { values.append((place.column.key, .list(wanted.map(\.value)))) }
      return
    }
    let showsExpected = missingLinks == .expect
    let difference = SetDifference(
      old: present.map { RenderedValue($0, showsExpected: showsExpected) },
      new: wanted.map { RenderedValue($0.value, showsExpected: showsExpected) }
    )
    for index in difference.removed { add(.discard(present[index]), place, node) }
    for index in difference.added { add(.add(wanted[index].value), place, wanted[index].node) }
  }

  /// An entry of a dictionary in the text.
  private typealias Entry = (key: ArraySlice<UInt8>, node: Int)

  /// Returns the entries of a dictionary, sorted by key; nil if the node is not a dictionary.
  private func entries(_ node: Int) throws(InputError) -> [Entry]? {
    var entries: [Entry] = []
    var object = node
    if let wrapper = text.wrapper(node), wrapper.name == "dictionary" {
      object = wrapper.value
      if text.kind(object) == .array {
        for pair in text.elements(object) { entries.append(try self.pair(pair)) }
      } else if text.kind(object) != .object {
        throw text.mismatch(object, "an object, or an array of pairs")
      }
    } else if text.kind(node) != .object || text.members(node).contains(where: { isTypeName($0.name) }) {
      return nil
    }
    entries.reserveCapacity(text.count(object))
    for member in text.members(object) { entries.append((text.content(member.name), member.value)) }
    entries.sort { compare($0.key, $1.key) < 0 }
    for (a, b) in zip(entries, entries.dropFirst()) where a.key == b.key {
      throw text.error(.syntax, at: b.node, "duplicate dictionary key; remove one of the entries")
    }
    return entries
  }

  private func isTypeName(_ name: Int) -> Bool { text.content(name).first == UInt8(ascii: "$") }

  /// `[key, value]`, the notation for keys that are not UTF-8.
  private func pair(_ node: Int) throws(InputError) -> Entry {
    let nodes = Array(text.elements(node))
    guard nodes.count == 2, let key = try text.string(nodes[0]) else {
      throw text.mismatch(node, "a pair of a key and a value")
    }
    return (key[...], nodes[1])
  }

  private mutating func addDictionary(
    _ node: Int,
    _ place: Place,
    _ stored: DictionaryView?,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    guard let entries = try entries(node) else {
      throw text.mismatch(node, "an object whose names do not begin with \"$\"")
    }
    if place.isUnmade, try embeddedClass(place.column, transaction) == nil {
      var made: [Value.Entry] = []
      for entry in entries {
        let value = try element(entry.node, place.column, transaction) ?? .null
        made.append(Value.Entry(key: Array(entry.key), value: value))
      }
      if !made.isEmpty { values.append((place.column.key, .dictionary(made))) }
      return
    }
    var keys: [[UInt8]] = []
    if var dictionary = stored {
      if entries.isEmpty && dictionary.count > 0 {
        add(.clear, place, node)
        return
      }
      for index in 0..<dictionary.count {
        keys.append(try format(node) { () throws(EngineError) in try dictionary.key(at: index).bytes })
      }
    }
    let difference = DictionaryDifference(old: keys, new: entries.map { Array($0.key) })
    for index in difference.removed { add(.remove, place.at(.key(keys[index])), node) }
    var dictionary = stored
    for (entry, index) in zip(entries, difference.former) {
      var present: ValueView?
      if let index { present = try format(node) { () throws(EngineError) in try dictionary?.value(at: index) } }
      try addEntry(entry, place, present, depth, transaction)
    }
  }

  /// Plans one entry; `stored` is nil if the dictionary does not contain it.
  private mutating func addEntry(
    _ entry: Entry,
    _ place: Place,
    _ stored: ValueView?,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    let place = place.at(.key(Array(entry.key)))
    if let target = try embeddedClass(place.column, transaction) {
      if stored == nil && text.kind(entry.node) == .null {
        add(.put(.null), place, entry.node)
      } else {
        try addEmbedded(entry.node, place, target, stored, depth, transaction)
      }
    } else if let stored, place.column.type == .mixed {
      try addMixed(entry.node, place, stored, depth, transaction)
    } else {
      let value = try element(entry.node, place.column, transaction) ?? .null
      if let stored { try addValue(value, entry.node, place, stored) } else { add(.put(value), place, entry.node) }
    }
  }

  // MARK: embedded objects

  /// Plans an embedded object in a property or entry. An existing object is changed in place.
  private mutating func addEmbedded(
    _ node: Int,
    _ place: Place,
    _ target: CachedClass,
    _ stored: ValueView?,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    if text.kind(node) == .null {
      try addValue(.null, node, place, stored)
      return
    }
    try checkIsObject(node, target)
    if case .link(_, let key) = stored, key.value >= 0 {
      try addObject(node, target, key, isNew: false, mode: .replace, depth: depth + 1, transaction)
    } else {
      add(.embed, place, node, depth: depth + 1)
    }
  }

  private func checkIsObject(_ node: Int, _ target: CachedClass) throws(InputError) {
    if text.kind(node) != .object { throw text.mismatch(node, "an object with the properties of \(target.name)") }
  }

  private mutating func addEmbeddedList(
    _ node: Int,
    _ place: Place,
    _ target: CachedClass,
    _ stored: ListView?,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    let items = Array(text.elements(node))
    for item in items { try checkIsObject(item, target) }
    var objects: [ObjKey] = []
    if var list = stored {
      for index in 0..<list.count {
        let element = try format(node) { () throws(EngineError) in try list.value(at: index) }
        guard case .link(_, let key) = element else { continue }
        objects.append(key)
      }
    }
    if items.isEmpty {
      if !objects.isEmpty { add(.clear, place, node) }
      return
    }
    // Two elements are equal if the plan between them is empty.
    let difference = try ListDifference(old: objects.count, new: items.count) { (old, new) throws(InputError) in
      var trial = ObjectPlan(text, patcher, missingLinks)
      try trial.addObject(
        items[new],
        target,
        objects[old],
        isNew: false,
        mode: .replace,
        depth: depth + 1,
        transaction
      )
      return trial.steps.isEmpty
    }
    for index in difference.replaced {
      try addObject(
        items[index],
        target,
        objects[index],
        isNew: false,
        mode: .replace,
        depth: depth + 1,
        transaction
      )
    }
    for index in difference.inserted { add(.embed, place.at(.index(index)), items[index], depth: depth + 1) }
    for index in difference.removed.reversed() { add(.remove, place.at(.index(index)), node) }
  }

  // MARK: applying

  /// Applies the changes; `made` is the key of the new object, if one was planned. Returns the number of omitted links
  /// and the required properties that were set to their default values.
  consuming func apply(
    to made: ObjKey = Self.unmade,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> (missing: Int, defaulted: [RequiredProperty]) {
    var missing = missing, defaulted = defaulted
    for step in steps {
      schemas.forgetObjects()
      let embedded: ObjKey?
      let object = step.object == Self.unmade ? made : step.object
      do { embedded = try Self.apply(step, to: object, transaction) } catch {
        throw text.error(error, at: step.node)
      }
      if let embedded, let target = step.column.targetTable {
        let filled = try fill(step, target, embedded, transaction)
        missing += filled.missing
        defaulted += filled.defaulted
      }
    }
    return (missing, defaulted)
  }

  private static func apply(
    _ step: PatchStep,
    to object: ObjKey,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> ObjKey? {
    let (table, column) = (step.table, step.column.key)
    let path = Array(step.path.dropLast())
    switch (step.change, step.path.last) {
    case (.put(let value), nil): try transaction.set(table, object, column, value)
    case (.put(let value), .index(let index)): try transaction.set(table, object, column, path: path, at: index, value)
    case (.put(let value), .key(let key)): try transaction.set(table, object, column, path: path, entry: key, value)
    case (.insert(let value), .index(let index)):
      try transaction.insert(table, object, column, path: path, at: index, value)
    case (.remove, .index(let index)): try transaction.remove(table, object, column, path: path, at: index)
    case (.remove, .key(let key)): _ = try transaction.remove(table, object, column, path: path, entry: key)
    case (.clear, _): try transaction.clear(table, object, column, path: step.path)
    case (.add(let value), _): _ = try transaction.add(table, object, column, value)
    case (.discard(let value), _): _ = try transaction.discard(table, object, column, value)
    case (.embed, nil): return try transaction.setEmbedded(table, object, column)
    case (.embed, .index(let index)): return try transaction.insertEmbedded(table, object, column, at: index)
    case (.embed, .key(let key)): return try transaction.setEmbedded(table, object, column, entry: key)
    // Only elements can be inserted; only elements and entries can be removed.
    case (.insert, _), (.remove, _): break
    }
    return nil
  }

  /// Sets the content of a new embedded object from the text.
  private func fill(
    _ step: PatchStep,
    _ target: TableKey,
    _ made: ObjKey,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> (missing: Int, defaulted: [RequiredProperty]) {
    var plan = ObjectPlan(text, patcher, missingLinks)
    try plan.addObject(
      step.node,
      schemas.schema(target, transaction),
      made,
      isNew: true,
      mode: .replace,
      depth: step.depth,
      transaction
    )
    return try plan.apply(transaction)
  }
}

extension ValueView {
  /// True if this is a collection without elements.
  fileprivate var isEmpty: Bool {
    switch self {
    case .list(let list), .set(let list): list.count == 0
    case .dictionary(let dictionary): dictionary.count == 0
    default: false
    }
  }
}

extension JSONText {
  /// Returns the content of a string as a `String`.
  func fullString(_ node: Int) -> String { String(decoding: content(node), as: UTF8.self) }
}
