// A path through the classes of a snapshot: from an object along links and backlinks to a property, and into the
// collection that the property holds.

import RealmPages

/// One step from an object to other objects.
private enum Hop {
  case link(property: Int)
  case collection(property: Int)
  /// One element of a list or one entry of a dictionary.
  case element(property: Int, PathSyntax.Element)
  case backlinks(from: TableKey, ColKey)
}

/// The values read at the end of a path.
private enum Goal {
  case property(Int)
  /// The objects themselves.
  case objects
  /// The number of all objects that link to this one.
  case allBacklinks
  case keys(Int)
}

/// A path with resolved names.
final class BoundPath {
  /// The class at which the path starts.
  let start: Table
  private let snapshot: Snapshot
  private var hops: [Hop] = []
  /// The class at the end, and the cursors for the classes along the path.
  private(set) var table: Table
  private var cursors: [ObjectCursor] = []
  private var goal = Goal.objects
  /// Steps into the collection at the end.
  private var selection: [PathSyntax.Element] = []
  private var ending: PathSyntax.Ending
  /// True if an object is counted once, no matter how many routes lead to it.
  private var isDistinct = false
  /// True if null entries of a dictionary of links are counted as values.
  private var isWithNullEntries = false
  /// For each step, true if it fans out after an earlier step did. There can then be more routes to the objects after
  /// it than there are links.
  private var fansOutAgain: [Bool] = []
  /// For each such step, the objects from which it was taken in this traversal, if each is taken once.
  private var seen: [Set<ObjKey>] = []
  /// The number of links followed by such steps in this traversal, if every route is taken.
  private var repeated = 0
  /// The limit for one traversal. This many values fit in the memory of any machine and are read within a second.
  private static let repeatLimit = 1_000_000
  /// The names of the properties along the path.
  let names: [String]
  /// The position of the path in the query.
  private let place: Int
  /// True if the path returns the sizes of the elements, not their number.
  private var countsElements = false
  private var aggregated: Int?

  /// Resolves the names of a path.
  init(_ path: PathSyntax, from start: Table, variable: String?, in snapshot: Snapshot) throws(InputError) {
    self.start = start
    self.snapshot = snapshot
    table = start
    ending = path.ending
    place = path.column
    names = path.elements.compactMap { if case .name(let name) = $0.element { name } else { nil } }
    try bind(path, variable)
    var hasFannedOut = false
    for hop in hops {
      let fansOut = if case .link = hop { false } else if case .element = hop { false } else { true }
      fansOutAgain.append(fansOut && hasFannedOut)
      if fansOut { hasFannedOut = true }
    }
    seen = hops.map { _ in [] }
    if case .aggregate = ending { takeEachOnce() }
  }

  private func bind(_ path: PathSyntax, _ variable: String?) throws(InputError) {
    var rest = path.elements[...]
    if let variable {
      guard let (first, column) = rest.popFirst(), case .name(variable) = first else {
        throw InputError(column: path.column, problem: "in a SUBQUERY, properties are those of \(variable)")
      }
      if rest.isEmpty { throw InputError(column: column, problem: "\(variable) needs a property") }
    }
    while let (element, column) = rest.popFirst() {
      guard case .name(let name) = element else {
        throw InputError(column: column, problem: "an index needs a list or dictionary before it")
      }
      if name == "@links" {
        if try bindBacklink(&rest, column) { continue }
        break
      }
      guard let index = table.columns.firstIndex(named: name, \.name) else {
        throw unknown(name, column)
      }
      let property = table.columns[index]
      if property.type == .link, property.collection != nil, case .all = rest.first?.element { rest = rest.dropFirst() }
      if property.type == .link, property.collection != nil, property.collection != .set, isSelection(rest.first),
        let (step, _) = rest.popFirst()
      {
        hops.append(.element(property: index, step))
        try enter(property.targetTable, column)
        continue
      }
      if property.type == .link, !isKeys(rest.first) {
        // The values of a dictionary of links are the links themselves.
        if case .name("@values") = rest.first?.element { rest = rest.dropFirst() }
        hops.append(property.collection == nil ? .link(property: index) : .collection(property: index))
        try enter(property.targetTable, column)
        if property.collection == .dictionary, case .name(let key) = rest.first?.element,
          !key.hasPrefix("@"), table.columns.first(named: key, \.name) == nil
        {
          // The name is not a property of the target, so it is a key.
          rest = rest.dropFirst()
          hops[hops.count - 1] = .element(property: index, .key(Array(key.utf8)))
        }
        continue
      }
      if isKeys(rest.first) {
        if property.collection == .dictionary {
          rest = rest.dropFirst()
          goal = .keys(index)
        } else if property.type == .mixed, property.collection == nil {
          goal = .property(index)
          try bindSelection(&rest, property)
        } else {
          throw InputError(
            column: rest.first?.column ?? column,
            problem: "\(name) is not a dictionary, so it has no @keys"
          )
        }
      } else {
        goal = .property(index)
        if case .name("@values") = rest.first?.element, property.collection == .dictionary {
          rest = rest.dropFirst()
          if let (_, column) = rest.first { throw InputError(column: column, problem: "nothing can follow @values") }
        }
        try bindSelection(&rest, property)
      }
      if let (_, column) = rest.first {
        throw InputError(column: column, problem: "\(name) is not a link, so a path cannot follow it")
      }
    }
    try checkEnding(path)
  }

  private func isKeys(_ next: (element: PathSyntax.Element, column: Int)?) -> Bool {
    if case .name("@keys") = next?.element { true } else { false }
  }

  private func isSelection(_ next: (element: PathSyntax.Element, column: Int)?) -> Bool {
    switch next?.element {
    case .index, .last, .all, .key: true
    default: false
    }
  }

  private func unknown(_ name: String, _ column: Int) -> InputError {
    let hint = KnownNames(table.columns.map(\.name)).hint(for: name)
    return InputError(column: column, problem: "\(table.title) has no property \(name); \(hint)")
  }

  private func enter(_ target: TableKey?, _ column: Int) throws(InputError) {
    let next: Table?
    do { next = try target.flatMap { (key) throws(EngineError) in try snapshot.table(key) } } catch {
      throw InputError(column: column, problem: error.description)
    }
    guard let next else {
      throw InputError(column: column, problem: "the link leads to a class that does not exist")
    }
    table = next
    cursors.append(ObjectCursor(next))
  }

  /// Resolves `@links.Class.property`. Returns false for `@links` alone, which is the end of the path.
  private func bindBacklink(
    _ rest: inout ArraySlice<(element: PathSyntax.Element, column: Int)>,
    _ column: Int
  ) throws(InputError) -> Bool {
    guard let (first, place) = rest.popFirst() else {
      guard case .count = ending else {
        throw InputError(column: column, problem: "@links needs a class and a property, or @count")
      }
      goal = .allBacklinks
      return false
    }
    guard case .name(let className) = first, let (second, propertyPlace) = rest.popFirst(),
      case .name(let property) = second
    else { throw InputError(column: place, problem: "@links needs a class and a property of it") }
    let origin: Table?
    do {
      if let found = try snapshot.table(named: Table.classPrefix + className) {
        origin = found
      } else {
        origin = try snapshot.table(named: className)
      }
    } catch { throw InputError(column: place, problem: error.description) }
    guard let origin else { throw InputError(column: place, problem: "there is no class \(className)") }
    guard let column = origin.columns.first(named: property, \.name), column.targetTable == table.key else {
      throw InputError(
        column: propertyPlace,
        problem: "\(className) has no property \(property) that links to \(table.title)"
      )
    }
    if snapshot.fileFormat < 10 {
      throw InputError(column: place, problem: "@links needs format 10 or later, this is \(snapshot.fileFormat)")
    }
    hops.append(.backlinks(from: origin.key, column.key))
    table = origin
    cursors.append(ObjectCursor(origin))
    return true
  }

  private func bindSelection(
    _ rest: inout ArraySlice<(element: PathSyntax.Element, column: Int)>,
    _ property: Column
  ) throws(InputError) {
    while let (element, column) = rest.first {
      switch element {
      case .name(let name)
      where name.lowercased() == "length" && selection.isEmpty && Self.hasLengths(property):
        countsElements = true
        ending = .count
        rest = rest.dropFirst()
        return
      case .name(let name):
        // The name must be a key of a dictionary or, in a Mixed, a property of an object.
        guard property.type == .mixed || property.collection == .dictionary else { return }
        selection.append(.key(Array(name.utf8)))
      default: selection.append(element)
      }
      if property.collection == nil && property.type != .mixed {
        throw InputError(column: column, problem: "\(property.name) is not a collection: it has no elements to pick")
      }
      if property.collection == .set {
        throw InputError(column: column, problem: "\(property.name) is a set: its elements have no index")
      }
      if property.collection == .dictionary, selection.count == 1 {
        switch selection[0] {
        case .index, .last:
          throw InputError(column: column, problem: "\(property.name) is a dictionary: its entries have keys, no index")
        default: break
        }
      }
      if property.type != .mixed && selection.count > 1 {
        throw InputError(column: column, problem: "only values of type mixed hold collections in collections")
      }
      rest = rest.dropFirst()
    }
  }

  /// Returns true if the property's elements have types with a length, as returned by `.length`.
  private static func hasLengths(_ property: Column) -> Bool {
    switch (property.collection, property.type) {
    case (.list, .string), (.list, .data), (.list, .mixed), (.set, .string), (.set, .data), (.set, .mixed): true
    default: false
    }
  }

  private func checkEnding(_ path: PathSyntax) throws(InputError) {
    let column = path.elements.last?.column ?? path.column
    switch ending {
    case .value: break
    case .type:
      guard case .property(let index) = goal,
        table.columns[index].type == .mixed
          || table.columns[index].collection == .dictionary
      else {
        throw InputError(column: column, problem: "@type needs values of type mixed; the others have a fixed type")
      }
    case .count:
      if case .property(let index) = goal, !isCountable(table.columns[index]) {
        throw InputError(column: column, problem: "\(table.columns[index].name) has no size")
      }
    case .aggregate(let aggregate, let name):
      if let name {
        guard case .objects = goal else {
          throw InputError(column: column, problem: "\(aggregate.rawValue).\(name) needs links before it")
        }
        guard let index = table.columns.firstIndex(named: name, \.name) else { throw unknown(name, column) }
        if table.columns[index].collection != nil {
          throw InputError(
            column: column,
            problem: "\(name) is a collection; \(name).\(aggregate.rawValue) has one result for each object"
          )
        }
        aggregated = index
        try checkNumbers(table.columns[index], aggregate, column)
      } else {
        guard case .property(let index) = goal, table.columns[index].collection != nil else {
          throw InputError(
            column: column,
            problem: "\(aggregate.rawValue) needs a list of numbers, or a property after it"
          )
        }
        try checkNumbers(table.columns[index], aggregate, column)
      }
    }
  }

  private func isCountable(_ column: Column) -> Bool {
    if column.collection != nil && isWhole { return true }
    return column.type == .string || column.type == .data || column.type == .mixed
  }

  private func checkNumbers(_ column: Column, _ aggregate: Aggregate, _ place: Int) throws(InputError) {
    switch column.type {
    case .int, .float, .double, .decimal128, .mixed: return
    case .date where aggregate == .min || aggregate == .max: return
    default:
      throw InputError(column: place, problem: "\(column.name) has no \(aggregate.rawValue): it is not a number")
    }
  }

  // MARK: facts

  /// The type of the result; nil for `@type`.
  var type: ValueType? {
    switch ending {
    case .count: return .int
    case .type: return nil
    case .aggregate(let aggregate, _):
      // As in Realm, a value compared with an aggregate of elements is converted to the element type.
      return aggregated == nil ? valueType : resultType(of: aggregate)
    case .value: return valueType
    }
  }

  /// Returns the type of an aggregate's result.
  private func resultType(of aggregate: Aggregate) -> ValueType {
    let type = aggregated.map { table.columns[$0].type } ?? valueType
    switch aggregate {
    case .min, .max: return type
    case .sum: return type == .float ? .double : type == .mixed ? .decimal128 : type
    case .average: return type == .decimal128 || type == .mixed ? .decimal128 : .double
    }
  }

  private var valueType: ValueType {
    switch goal {
    case .property(let index):
      // The property's type is also the type of a dictionary's values.
      return table.columns[index].type
    case .objects: return .link
    case .allBacklinks: return .int
    case .keys: return .string
    }
  }

  var isType: Bool { if case .type = ending { true } else { false } }

  private var hasOnlyLinks: Bool { Self.areSingle(hops[...]) }

  /// Returns true if each step leads to at most one object.
  private static func areSingle(_ hops: ArraySlice<Hop>) -> Bool {
    hops.allSatisfy { hop in
      switch hop {
      case .link: true
      // The element may be missing.
      case .element, .collection, .backlinks: false
      }
    }
  }

  /// True if the path may have more than one value.
  var isList: Bool {
    switch ending {
    // A collection after several links has one result for each object.
    case .aggregate: return aggregated == nil && !hasOnlyLinks
    case .count:
      switch goal {
      case .objects: return !Self.areSingle(hops.dropLast())
      case .allBacklinks: return false
      case .property(let index) where table.columns[index].collection != nil && isWhole:
        return !hasOnlyLinks || countsElements
      default: return !hasOnlyLinks || countsElements || selects
      }
    case .value, .type:
      if !hasOnlyLinks { return true }
      guard case .property(let index) = goal else {
        guard case .keys = goal else { return false }
        return true
      }
      return selects || table.columns[index].collection != nil && selection.isEmpty
    }
  }

  /// True if the path selects several elements.
  private var selects: Bool {
    selection.contains { element in
      switch element {
      case .all: true
      case .key(let key): key.elementsEqual(Self.keysName)
      default: false
      }
    }
  }

  /// True if the path selects all elements of the collection.
  private var isWhole: Bool {
    guard selection.count == 1, case .all = selection[0] else { return selection.isEmpty }
    return true
  }

  /// The name that selects the keys of a dictionary, unless the dictionary has such a key.
  private static let keysName = "@keys".utf8

  /// True if ANY, ALL and NONE may precede the path, which includes paths that select single elements of collections.
  var canBeQuantified: Bool { isList || !selection.isEmpty }

  /// True if the path ends with a collection of values, or with several elements of one.
  var isListOfValues: Bool {
    guard isList, case .property(let index) = goal, case .value = ending else { return false }
    return table.columns[index].collection != nil
  }

  /// The property, if the path is just a single-value property of the starting class.
  var plainProperty: Int? { hops.isEmpty ? propertyAlongLinks : nil }

  /// The single-value property of the class at the end, if the path reaches it along single links.
  var propertyAlongLinks: Int? {
    guard hasOnlyLinks, selection.isEmpty, case .property(let index) = goal, case .value = ending,
      table.columns[index].collection == nil
    else { return nil }
    return index
  }

  /// Returns the objects whose path leads to one of `keys`, which have `value`. Nil if this cannot be determined from
  /// backlinks.
  func origins(of keys: [ObjKey], _ value: ValueView) throws -> [ObjKey]? {
    // The value is also null for an object whose link is null.
    if !hops.isEmpty && value.isNull { return nil }
    var keys = keys
    for (level, hop) in hops.enumerated().reversed() {
      let cursor = cursors[level], origin = level == 0 ? start : cursors[level - 1].table
      guard case .link(let property) = hop,
        cursor.table.knowsOrigins(from: origin.key, origin.columns[property].key)
      else { return nil }
      var origins: [ObjKey] = []
      for key in keys where try cursor.seek(key) {
        origins += try cursor.origins(from: origin.key, origin.columns[property].key)
      }
      keys = origins
    }
    return keys
  }

  /// True if the path always has exactly one value.
  var isSingle: Bool {
    if case (.count, .objects) = (ending, goal), hops.count > 1 { return false }
    return !isList && selection.isEmpty
  }

  /// Counts each object once, no matter how many routes lead to it, unless the path is a sum, average or number of
  /// backlinks. For callers that need the set of values, not their frequency or order.
  func takeEachOnce() {
    switch (ending, goal) {
    case (.aggregate(.sum, _), _), (.aggregate(.average, _), _), (_, .allBacklinks): break
    default: isDistinct = true
    }
  }

  // MARK: reading

  /// Returns the result of the path for an object.
  func operand(_ cursor: ObjectCursor) throws -> Operand {
    if let plainProperty { return .one(try cursor.value(plainProperty)) }
    switch ending {
    case .aggregate(let aggregate, _): return try self.aggregate(aggregate, cursor)
    case .count: return try count(cursor)
    case .value: return try values(cursor)
    case .type: return try types(cursor)
    }
  }

  /// Returns the types of the values.
  private func types(_ cursor: ObjectCursor) throws -> Operand {
    try values(cursor).mapped(TypeName.of)
  }

  private func count(_ cursor: ObjectCursor) throws -> Operand {
    switch goal {
    case .objects:
      // Counts the links of the last step separately for each object before it.
      var counts: [ValueView] = []
      try walk(to: hops.count - 1, cursor) { (object) throws in
        var count: Int64 = 0
        try self.links(self.hops.count - 1, object) { (link) throws in
          // As in Realm, null entries of a dictionary count after other links only.
          if !link.isNull || self.hops.count > 1 && self.endsInDictionary { count += 1 }
        }
        counts.append(.int(count))
      }
      // If no object is reached before the last step, there is nothing to count.
      return hops.count > 1 ? .many(counts) : .one(counts.first ?? .int(0))
    case .allBacklinks:
      var count = 0
      try visit(cursor) { (object) throws in
        for source in self.table.linkSources { count += try object.origins(from: source.table, source.column).count }
      }
      return .one(.int(Int64(count)))
    case .keys(let index), .property(let index):
      let column = table.columns[index]
      // As in Realm, a collection property returns its size, even after [*].
      if !selection.isEmpty, column.collection == nil || !isWhole {
        return try values(cursor).mapped { value in value.elementCount.map { .int(Int64($0)) } ?? .null }
      }
      var counts: [ValueView] = []
      try visit(cursor) { (object) throws in
        let value = try object.value(index)
        if self.countsElements {
          // A null string has length 0. Elements of a Mixed other than strings and binaries have no length.
          try value.forEachElement { element in
            switch element {
            case .null where column.type != .mixed: counts.append(.int(0))
            case .string(let bytes), .data(let bytes): counts.append(.int(Int64(bytes.count)))
            default: break
            }
          }
        } else if column.collection != nil {
          counts.append(.int(Int64(value.elementCount ?? 0)))
        } else {
          counts.append(value.elementCount.map { .int(Int64($0)) } ?? .null)
        }
      }
      if isList { return .many(counts) }
      // If no object is reached, a collection is treated as empty, and a string has no length.
      return .one(counts.first ?? (column.collection != nil ? .int(0) : .null))
    }
  }

  private func values(_ cursor: ObjectCursor) throws -> Operand {
    var values: [ValueView] = []
    /// The collections at the end, which are compared separately.
    var collections: [[ValueView]] = []
    switch goal {
    case .objects:
      guard case .element(_, .key) = hops.last else {
        try forEach(cursor, isLast: true) { (link) throws in values.append(link) }
        break
      }
      try walk(to: hops.count - 1, cursor) { (object) throws in
        var entry: [ValueView] = []
        try self.links(self.hops.count - 1, object) { (link) throws in entry.append(link.isNull ? .null : link) }
        collections.append(entry)
      }
      if isSingleEntry, collections.count == 1, let link = collections[0].first { return .one(link) }
      return Operand(collections: collections)
    case .allBacklinks: return try count(cursor)
    case .keys(let index):
      try visit(cursor) { (object) throws in
        guard case .dictionary(var entries) = try object.value(index) else { return }
        var keys: [ValueView] = []
        for position in 0..<entries.count { keys.append(.string(try entries.key(at: position))) }
        collections.append(keys)
      }
      return Operand(collections: collections)
    case .property(let index):
      let isCollection = table.columns[index].collection != nil
      if selection.isEmpty, !isCollection {
        try visit(cursor) { (object) throws in values.append(try object.value(index)) }
        break
      }
      try visit(cursor) { (object) throws in
        let value = try object.value(index)
        guard self.selection.isEmpty else {
          return try self.collect(value, self.selection[...], isTyped: isCollection, into: &collections)
        }
        var elements: [ValueView] = []
        try value.forEachElement { elements.append($0) }
        collections.append(elements)
      }
      // An entry of a dictionary is a single value.
      if isSingleEntry, collections.count == 1, let value = collections[0].first { return .one(value) }
      return Operand(collections: collections)
    }
    return isList ? .many(values) : .one(values.first ?? .null)
  }

  /// True if a path along single links selects one entry of a dictionary property.
  private var isSingleEntry: Bool {
    guard case .property(let index) = goal else {
      guard case .element(_, .key) = hops.last else { return false }
      return Self.areSingle(hops.dropLast())
    }
    return table.columns[index].collection == .dictionary && hasOnlyLinks && !selection.isEmpty && !selects
  }

  private func aggregate(_ aggregate: Aggregate, _ cursor: ObjectCursor) throws -> Operand {
    let empty = Accumulator(aggregate, type: resultType(of: aggregate), takesNaN: takesNaN(aggregate))
    if let aggregated {
      var sum = empty
      try visit(cursor) { (object) throws in sum.add(try object.value(aggregated)) }
      return .one(sum.result)
    }
    guard case .property(let index) = goal else { return .one(empty.result) }
    var results: [ValueView] = []
    try visit(cursor) { (object) throws in
      var sum = empty
      try object.value(index).forEachElement { sum.add($0) }
      results.append(sum.result)
    }
    return isList ? .many(results) : .one(results.first ?? empty.result)
  }

  /// True if NaN counts as a value in an aggregate. As in Realm, it is ignored where all values have the same type,
  /// except for the minimum and maximum of dictionaries.
  private func takesNaN(_ aggregate: Aggregate) -> Bool {
    if let aggregated { return table.columns[aggregated].type == .mixed }
    guard case .property(let index) = goal, table.columns[index].type != .mixed else { return true }
    switch aggregate {
    case .min, .max: return table.columns[index].collection == .dictionary
    case .sum, .average: return false
    }
  }

  /// Steps into nested collections and appends one array for each collection that the last step selects from, with the
  /// selected elements. Empty collections and other values contribute no elements. A dictionary or list property
  /// without the selected element contributes null.
  private func collect(
    _ value: ValueView,
    _ steps: ArraySlice<PathSyntax.Element>,
    isTyped: Bool = false,
    into collections: inout [[ValueView]]
  ) throws {
    guard let step = steps.first else { return }
    let rest = steps.dropFirst()
    let picked = try elements(of: value, step, isTyped: isTyped, isLast: rest.isEmpty)
    if rest.isEmpty { return collections.append(picked) }
    for value in picked { try collect(value, rest, into: &collections) }
  }

  /// Returns the elements selected by one step.
  private func elements(
    of value: ValueView,
    _ step: PathSyntax.Element,
    isTyped: Bool,
    isLast: Bool
  ) throws -> [ValueView] {
    var picked: [ValueView] = []
    switch (step, value) {
    case (.index(let index), .list(var list)):
      if index < list.count {
        picked.append(try list.value(at: index))
      } else if list.count > 0, isTyped {
        picked.append(.null)
      }
    case (.last, .list(var list)):
      if list.count > 0 { picked.append(try list.value(at: list.count - 1)) }
    case (.all, .list), (.all, .set), (.all, .dictionary): try value.forEachElement { picked.append($0) }
    case (.key(let key), .dictionary(var entries)):
      if let index = try entries.index(of: key) {
        picked.append(try entries.value(at: index))
      } else if isLast, key.elementsEqual(Self.keysName) {
        for index in 0..<entries.count { picked.append(.string(try entries.key(at: index))) }
      } else if isLast, entries.count > 0 {
        picked.append(.null)
      }
    case (.key(let name), .link(let key, let object)):
      guard object.value >= 0, let table = try snapshot.table(key),
        let index = table.columns.firstIndex(named: String(decoding: name, as: UTF8.self), \.name)
      else { break }
      let cursor = ObjectCursor(table)
      if try cursor.seek(object) { picked.append(try cursor.value(index)) }
    default: break
    }
    return picked
  }

  // MARK: links

  /// Calls `body` with each object at the end of the links.
  private func visit(
    _ cursor: ObjectCursor,
    _ body: (ObjectCursor) throws -> Void
  ) throws {
    try walk(to: hops.count, cursor, body)
  }

  /// Calls `body` with each object reached by the steps before `end`.
  private func walk(
    to end: Int,
    _ cursor: ObjectCursor,
    _ body: (ObjectCursor) throws -> Void
  ) throws {
    repeated = 0
    if isDistinct { for level in hops.indices where fansOutAgain[level] { seen[level] = [] } }
    try follow(0, to: end, cursor, body)
  }

  /// Calls `body` with each object reached by the steps from `level` to `end`.
  private func follow(
    _ level: Int,
    to end: Int,
    _ cursor: ObjectCursor,
    _ body: (ObjectCursor) throws -> Void
  ) throws {
    if isDistinct, level < hops.count, fansOutAgain[level], !seen[level].insert(cursor.key).inserted { return }
    if level == end { return try body(cursor) }
    let next = cursors[level]
    try links(level, cursor) { (link) throws in
      guard case .link(_, let key) = link, key.value >= 0, try next.seek(key) else { return }
      try self.follow(level + 1, to: end, next, body)
    }
  }

  /// Calls `body` with each link at the end, and with null for a single null link.
  private func forEach(
    _ cursor: ObjectCursor,
    isLast: Bool,
    _ body: (ValueView) throws -> Void
  ) throws {
    try walk(to: hops.count - 1, cursor) { (object) throws in
      try self.links(self.hops.count - 1, object) { (link) throws in
        if !link.isNull { return try body(link) }
        if isLast, self.givesNull { try body(.null) }
      }
    }
  }

  /// True if the last step yields null when it does not lead to an object. As in Realm, lists of links have no nulls.
  private var givesNull: Bool {
    switch hops.last {
    case .link: hasOnlyLinks
    case .element(_, .key): true
    case .collection: isWithNullEntries && endsInDictionary
    default: false
    }
  }

  /// True if the last step follows all entries of a dictionary.
  private var endsInDictionary: Bool {
    guard case .collection(let property) = hops.last else { return false }
    return lastOrigin.columns[property].collection == .dictionary
  }

  /// The class from which the last step starts.
  private var lastOrigin: Table { hops.count > 1 ? cursors[hops.count - 2].table : start }

  /// True if the path is a single step along links. Realm has special rules for comparing such paths with constants.
  var isOneStep: Bool { hops.count == 1 && endsWithLinks }

  /// True if the path may have more than one link, none of which is null.
  var isListOfLinks: Bool { isList && endsWithLinks && !(isOneStep && endsInDictionary) }

  /// True if the path ends with links, not with one element of a list or dictionary of links.
  private var endsWithLinks: Bool {
    guard case .objects = goal, case .value = ending else { return false }
    if case .element = hops.last { return false }
    return true
  }

  /// Counts null entries of a dictionary of links as values.
  func takeNullEntries() { isWithNullEntries = true }

  /// Calls `body` with each link of one step from an object.
  private func links(
    _ level: Int,
    _ cursor: ObjectCursor,
    _ body: (ValueView) throws -> Void
  ) throws {
    if !isDistinct, fansOutAgain[level] {
      return try eachLink(level, cursor) { (link) throws in
        self.repeated += 1
        if self.repeated > Self.repeatLimit {
          throw InputError(
            column: self.place,
            problem: "more than \(Self.repeatLimit) ways along this path from one object"
          )
        }
        try body(link)
      }
    }
    try eachLink(level, cursor, body)
  }

  private func eachLink(
    _ level: Int,
    _ cursor: ObjectCursor,
    _ body: (ValueView) throws -> Void
  ) throws {
    switch hops[level] {
    case .link(let property): try body(cursor.value(property))
    case .collection(let property):
      switch try cursor.value(property) {
      case .list(var list), .set(var list): for index in 0..<list.count { try body(list.value(at: index)) }
      case .dictionary(var entries): for index in 0..<entries.count { try body(entries.value(at: index)) }
      default: break
      }
    case .element(let property, let step):
      for link in try elements(of: cursor.value(property), step, isTyped: false, isLast: true) { try body(link) }
    case .backlinks(let table, let column):
      for key in try cursor.origins(from: table, column) { try body(.link(table, key)) }
    }
  }

  /// Returns the keys of the objects at the end of the links, for a subquery.
  func objects(_ cursor: ObjectCursor) throws -> [ObjKey] {
    var keys: [ObjKey] = []
    try forEach(cursor, isLast: false) { (link) throws in
      if case .link(_, let key) = link { keys.append(key) }
    }
    return keys
  }

  /// Returns true if no object is reached because a link before the last step is null.
  func leadsNowhere(_ cursor: ObjectCursor) throws -> Bool {
    // A link at the end may be null.
    let end = if case .objects = goal { hops.count - 1 } else { hops.count }
    if end <= 0 { return false }
    var isReached = false
    try walk(to: end, cursor) { (_) throws in isReached = true }
    return !isReached
  }

  /// The class of the links at the end; nil if the path ends with another value.
  var linkTarget: Table? {
    if case .objects = goal { table } else { nil }
  }

  /// True if the path is a list of links.
  var isListOfObjects: Bool {
    guard case .objects = goal, case .value = ending, let last = hops.last else { return false }
    return !Self.areSingle([last])
  }
}

extension Table {
  /// The name of the class, or of the table if it is not a class.
  var title: String { className ?? name }
}

extension ValueView {
  /// The number of elements of a collection, or of bytes of a string or binary; nil for other values.
  var elementCount: Int? {
    switch self {
    case .list(let list), .set(let list): list.count
    case .dictionary(let entries): entries.count
    case .string(let bytes), .data(let bytes): bytes.count
    default: nil
    }
  }

  func forEachElement(_ body: (ValueView) -> Void) throws {
    switch self {
    case .list(var list), .set(var list): for index in 0..<list.count { body(try list.value(at: index)) }
    case .dictionary(var entries): for index in 0..<entries.count { body(try entries.value(at: index)) }
    default: break
    }
  }
}
