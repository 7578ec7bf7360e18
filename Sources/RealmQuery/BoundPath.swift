// A path through the classes of a snapshot: from an object along links, forwards and backwards, to a property, and into
// the collection that it holds.

import RealmPages

/// One step from an object to others.
private enum Hop {
  case link(property: Int)
  case collection(property: Int)
  /// One element of a list, or one entry of a dictionary.
  case element(property: Int, PathSyntax.Element)
  case backlinks(from: TableKey, ColKey)
}

/// What is read at the end of a path.
private enum Goal {
  case property(Int)
  /// The objects themselves.
  case objects
  /// All objects that link to this one, counted.
  case allBacklinks
  case keys(Int)
}

/// A path whose names were looked up.
final class BoundPath {
  /// The class that the path starts from.
  let start: Table
  private let snapshot: Snapshot
  private var hops: [Hop] = []
  /// The class at the end, and the cursors in the classes on the way.
  private(set) var table: Table
  private var cursors: [ObjectCursor] = []
  private var goal = Goal.objects
  /// Steps into the collection at the end.
  private var selection: [PathSyntax.Element] = []
  private var ending: PathSyntax.Ending
  /// Whether an object counts once, however many ways lead to it.
  private var isDistinct = false
  /// Of each step, whether it fans out after another one did: the ways to the objects behind it can be more than there
  /// are links.
  private var fansOutAgain: [Bool] = []
  /// The objects from which such steps were taken in this walk, if each is to be taken once.
  private var seen: [Set<ObjKey>] = []
  /// The links that such steps led along in this walk, if each is to be taken.
  private var repeated = 0
  /// As many as a walk takes: their values fit the memory of any machine, and are there within a second.
  private static let repeatLimit = 1_000_000
  /// The names of the properties along the path.
  let names: [String]
  /// Where the path stands in the query.
  private let place: Int
  /// Whether the sizes of the elements are asked for, not their number.
  private var countsElements = false
  private var aggregated: Int?

  /// Looks a path up.
  init(_ path: PathSyntax, from start: Table, variable: String?, in snapshot: Snapshot) throws(QueryError) {
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

  private func bind(_ path: PathSyntax, _ variable: String?) throws(QueryError) {
    var rest = path.elements[...]
    if let variable {
      guard let (first, column) = rest.popFirst(), case .name(variable) = first else {
        throw QueryError(column: path.column, problem: "in a SUBQUERY, properties are those of \(variable)")
      }
      if rest.isEmpty { throw QueryError(column: column, problem: "\(variable) needs a property") }
    }
    while let (element, column) = rest.popFirst() {
      guard case .name(let name) = element else {
        throw QueryError(column: column, problem: "an index needs a list or dictionary before it")
      }
      if name == "@links" {
        if try bindBacklink(&rest, column) { continue }
        break
      }
      guard let index = table.columns.firstIndex(named: name, \.name) else {
        throw unknown(name, column)
      }
      let property = table.columns[index]
      if property.type == .link, property.collection != nil, property.collection != .set, isSelection(rest.first),
        let (step, _) = rest.popFirst()
      {
        hops.append(.element(property: index, step))
        try enter(property.targetTable, column)
        continue
      }
      if property.type == .link, !isKeys(rest.first) {
        // The values of a dictionary of links are the links.
        if case .name("@values") = rest.first?.element { rest = rest.dropFirst() }
        hops.append(property.collection == nil ? .link(property: index) : .collection(property: index))
        try enter(property.targetTable, column)
        if property.collection == .dictionary, case .name(let key) = rest.first?.element,
          !key.hasPrefix("@"), table.columns.first(named: key, \.name) == nil
        {
          // No property of the target: a key.
          rest = rest.dropFirst()
          hops[hops.count - 1] = .element(property: index, .key(Array(key.utf8)))
        }
        continue
      }
      if isKeys(rest.first) {
        guard property.collection == .dictionary else {
          throw QueryError(
            column: rest.first?.column ?? column,
            problem: "\(name) is no dictionary, so it has no @keys"
          )
        }
        rest = rest.dropFirst()
        goal = .keys(index)
      } else {
        goal = .property(index)
        if case .name("@values") = rest.first?.element, property.collection == .dictionary { rest = rest.dropFirst() }
        try bindSelection(&rest, property)
      }
      if let (_, column) = rest.first {
        throw QueryError(column: column, problem: "\(name) is no link: nothing can follow it")
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

  private func unknown(_ name: String, _ column: Int) -> QueryError {
    let hint = KnownNames(table.columns.map(\.name)).hint(for: name)
    return QueryError(column: column, problem: "\(table.className ?? table.name) has no property \(name); \(hint)")
  }

  private func enter(_ target: TableKey?, _ column: Int) throws(QueryError) {
    let next: Table?
    do throws(EngineError) { next = try target.flatMap { (key) throws(EngineError) in try snapshot.table(key) } } catch
    {
      throw QueryError(column: column, problem: error.description)
    }
    guard let next else {
      throw QueryError(column: column, problem: "the link leads to a class that does not exist")
    }
    table = next
    cursors.append(ObjectCursor(next))
  }

  /// `@links.Class.property`; false for `@links` alone, which ends the path.
  private func bindBacklink(
    _ rest: inout ArraySlice<(element: PathSyntax.Element, column: Int)>,
    _ column: Int
  ) throws(QueryError) -> Bool {
    guard let (first, place) = rest.popFirst() else {
      guard case .count = ending else {
        throw QueryError(column: column, problem: "@links needs a class and a property, or @count")
      }
      goal = .allBacklinks
      return false
    }
    guard case .name(let className) = first, let (second, propertyPlace) = rest.popFirst(),
      case .name(let property) = second
    else { throw QueryError(column: place, problem: "@links needs a class and a property of it") }
    let origin: Table?
    do throws(EngineError) {
      if let found = try snapshot.table(named: Table.classPrefix + className) {
        origin = found
      } else {
        origin = try snapshot.table(named: className)
      }
    } catch { throw QueryError(column: place, problem: error.description) }
    guard let origin else { throw QueryError(column: place, problem: "there is no class \(className)") }
    guard let column = origin.columns.first(named: property, \.name), column.targetTable == table.key else {
      throw QueryError(
        column: propertyPlace,
        problem: "\(className) has no property \(property) that links to \(table.className ?? table.name)"
      )
    }
    if snapshot.fileFormat < 10 {
      throw QueryError(column: place, problem: "@links needs format 10 or later, this is \(snapshot.fileFormat)")
    }
    hops.append(.backlinks(from: origin.key, column.key))
    table = origin
    cursors.append(ObjectCursor(origin))
    return true
  }

  private func bindSelection(
    _ rest: inout ArraySlice<(element: PathSyntax.Element, column: Int)>,
    _ property: Column
  ) throws(QueryError) {
    while let (element, column) = rest.first {
      switch element {
      case .name("length") where property.collection != nil && (property.type == .string || property.type == .data):
        countsElements = true
        ending = .count
        rest = rest.dropFirst()
        return
      case .name(let name):
        // The entry of a dictionary.
        guard property.type == .mixed || property.collection == .dictionary else { return }
        selection.append(.key(Array(name.utf8)))
      default: selection.append(element)
      }
      if property.collection == nil && property.type != .mixed {
        throw QueryError(column: column, problem: "\(property.name) is no collection, so nothing can be picked from it")
      }
      if property.collection == .set {
        throw QueryError(column: column, problem: "\(property.name) is a set: its elements have no index")
      }
      if property.type != .mixed && selection.count > 1 {
        throw QueryError(column: column, problem: "only values of type mixed hold collections in collections")
      }
      rest = rest.dropFirst()
    }
  }

  private func checkEnding(_ path: PathSyntax) throws(QueryError) {
    let column = path.elements.last?.column ?? path.column
    switch ending {
    case .value, .type: break
    case .count:
      if case .property(let index) = goal, !isCountable(table.columns[index]) {
        throw QueryError(column: column, problem: "\(table.columns[index].name) has no size")
      }
    case .aggregate(let aggregate, let name):
      if let name {
        guard case .objects = goal else {
          throw QueryError(column: column, problem: "\(aggregate.rawValue).\(name) needs links before it")
        }
        guard let index = table.columns.firstIndex(named: name, \.name) else { throw unknown(name, column) }
        aggregated = index
        try checkNumbers(table.columns[index], aggregate, column)
      } else {
        guard case .property(let index) = goal, table.columns[index].collection != nil else {
          throw QueryError(
            column: column,
            problem: "\(aggregate.rawValue) needs a list of numbers, or a property behind it"
          )
        }
        try checkNumbers(table.columns[index], aggregate, column)
      }
    }
  }

  private func isCountable(_ column: Column) -> Bool {
    if column.collection != nil && selection.isEmpty { return true }
    return column.type == .string || column.type == .data || column.type == .mixed
  }

  private func checkNumbers(_ column: Column, _ aggregate: Aggregate, _ place: Int) throws(QueryError) {
    switch column.type {
    case .int, .float, .double, .decimal128, .mixed: return
    case .date where aggregate == .min || aggregate == .max: return
    default:
      throw QueryError(column: place, problem: "\(column.name) has no \(aggregate.rawValue): it holds no numbers")
    }
  }

  // MARK: facts

  /// The type of what is read; nil for `@type`.
  var type: ValueType? {
    switch ending {
    case .count: return .int
    case .type: return nil
    case .aggregate(let aggregate, _):
      let type: ValueType
      if let aggregated { type = table.columns[aggregated].type } else { type = valueType }
      switch aggregate {
      case .min, .max: return type
      case .sum: return type == .float ? .double : type == .mixed ? .decimal128 : type
      case .average: return type == .decimal128 || type == .mixed ? .decimal128 : .double
      }
    case .value: return valueType
    }
  }

  private var valueType: ValueType {
    switch goal {
    case .property(let index):
      // The values of a dictionary may be of the type of the property only.
      return table.columns[index].type
    case .objects: return .link
    case .allBacklinks: return .int
    case .keys: return .string
    }
  }

  var isType: Bool { if case .type = ending { true } else { false } }

  private var hasOnlyLinks: Bool { Self.areSingle(hops[...]) }

  /// Whether each step leads to one object at most.
  private static func areSingle(_ hops: ArraySlice<Hop>) -> Bool {
    hops.allSatisfy { hop in
      switch hop {
      case .link: true
      // An element may not be there.
      case .element, .collection, .backlinks: false
      }
    }
  }

  /// Whether there may be more than one value.
  var isList: Bool {
    switch ending {
    case .aggregate: return false
    case .count:
      switch goal {
      case .objects: return !Self.areSingle(hops.dropLast())
      case .allBacklinks: return !hasOnlyLinks
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

  /// Whether several elements are picked.
  private var selects: Bool { selection.contains { if case .all = $0 { true } else { false } } }

  /// The property, if the path is nothing but a property of the class that it starts from and holds one value.
  var plainProperty: Int? { hops.isEmpty ? propertyAlongLinks : nil }

  /// The property of the class at the end, if the path is a way to it along links that lead to one object at most.
  var propertyAlongLinks: Int? {
    guard hasOnlyLinks, selection.isEmpty, case .property(let index) = goal, case .value = ending,
      table.columns[index].collection == nil
    else { return nil }
    return index
  }

  /// The objects from which the links of such a path lead to `keys`, which have `value`; nil if links alone cannot tell
  /// that.
  func origins(of keys: [ObjKey], _ value: ValueView) throws -> [ObjKey]? {
    // An object whose link is null has the value null, too.
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

  /// Whether it always gives one value.
  var isSingle: Bool { !isList && selection.isEmpty }

  /// Lets each object count once, however many ways lead to it, unless sums depend on that: for those who ask which
  /// values there are, not how often or in what order.
  func takeEachOnce() {
    switch ending {
    case .aggregate(.sum, _), .aggregate(.average, _): break
    default: isDistinct = true
    }
  }

  // MARK: reading

  /// What the path leads to from an object.
  func operand(_ cursor: ObjectCursor) throws -> Operand {
    if let plainProperty { return .one(try cursor.value(plainProperty)) }
    switch ending {
    case .aggregate(let aggregate, _): return .one(try self.aggregate(aggregate, cursor))
    case .count: return try count(cursor)
    case .value: return try values(cursor)
    case .type: return try values(cursor)
    }
  }

  private func count(_ cursor: ObjectCursor) throws -> Operand {
    switch goal {
    case .objects:
      // The links of the last step, for each object before it.
      var counts: [ValueView] = []
      try walk(to: hops.count - 1, cursor) { (object) throws in
        var count: Int64 = 0
        try self.links(self.hops.count - 1, object) { (link) throws in if !link.isNull { count += 1 } }
        counts.append(.int(count))
      }
      // Without an object before the last step there is nothing to count.
      return hops.count > 1 ? .many(counts) : .one(counts.first ?? .int(0))
    case .allBacklinks:
      var counts: [ValueView] = []
      try visit(cursor) { (object) throws in
        var count = 0
        for source in self.table.linkSources { count += try object.origins(from: source.table, source.column).count }
        counts.append(.int(Int64(count)))
      }
      return isList ? .many(counts) : .one(counts.first ?? .int(0))
    case .keys(let index), .property(let index):
      let column = table.columns[index]
      var counts: [ValueView] = []
      try visit(cursor) { (object) throws in
        if self.countsElements {
          try object.value(index).forEachElement { value in
            counts.append(value.elementCount.map { .int(Int64($0)) } ?? .null)
          }
        } else if column.collection != nil && self.selection.isEmpty {
          counts.append(.int(Int64(try object.value(index).elementCount ?? 0)))
        } else {
          try self.select(object.value(index), self.selection[...]) { value in
            counts.append(value.elementCount.map { .int(Int64($0)) } ?? .null)
          }
        }
      }
      if isList { return .many(counts) }
      if !selection.isEmpty { return .many(counts) }
      // The collection of no object is empty; the text of no object is none.
      return .one(counts.first ?? (column.collection != nil ? .int(0) : .null))
    }
  }

  private func values(_ cursor: ObjectCursor) throws -> Operand {
    var values: [ValueView] = []
    switch goal {
    case .objects:
      try forEach(cursor, isLast: true) { (link) throws in values.append(link) }
    case .allBacklinks: return try count(cursor)
    case .keys(let index):
      try visit(cursor) { (object) throws in
        guard case .dictionary(var entries) = try object.value(index) else { return }
        for position in 0..<entries.count { values.append(.string(try entries.key(at: position))) }
      }
    case .property(let index):
      let isCollection = table.columns[index].collection != nil
      try visit(cursor) { (object) throws in
        let value = try object.value(index)
        if self.selection.isEmpty {
          if isCollection { try value.forEachElement { values.append($0) } } else { values.append(value) }
        } else {
          try self.select(value, self.selection[...], isTyped: isCollection) { values.append($0) }
        }
      }
    }
    // What is not there to be picked is not even null.
    return isList || !selection.isEmpty ? .many(values) : .one(values.first ?? .null)
  }

  private func aggregate(_ aggregate: Aggregate, _ cursor: ObjectCursor) throws -> ValueView {
    var sum = Accumulator(aggregate, type: type ?? .int)
    try visit(cursor) { (object) throws in
      if let index = self.aggregated { return sum.add(try object.value(index)) }
      guard case .property(let index) = self.goal else { return }
      try object.value(index).forEachElement { sum.add($0) }
    }
    return sum.result
  }

  /// Steps into nested collections; nothing comes from what is empty or no collection, null from a dictionary, or a
  /// property that is a list, without such an element.
  private func select(
    _ value: ValueView,
    _ steps: ArraySlice<PathSyntax.Element>,
    isTyped: Bool = false,
    _ body: (ValueView) -> Void
  ) throws {
    guard let step = steps.first else { return body(value) }
    let rest = steps.dropFirst()
    switch (step, value) {
    case (.index(let index), .list(var list)):
      if index < list.count {
        try select(list.value(at: index), rest, body)
      } else if list.count > 0, isTyped {
        body(.null)
      }
    case (.last, .list(var list)):
      if list.count > 0 { try select(list.value(at: list.count - 1), rest, body) }
    case (.all, .list(var list)), (.all, .set(var list)):
      for index in 0..<list.count { try select(list.value(at: index), rest, body) }
    case (.all, .dictionary(var entries)):
      for index in 0..<entries.count { try select(entries.value(at: index), rest, body) }
    case (.key(let key), .dictionary(var entries)):
      if let index = try entries.index(of: key) {
        try select(entries.value(at: index), rest, body)
      } else if entries.count > 0 {
        body(.null)
      }
    default: break
    }
  }

  // MARK: links

  /// Calls `body` with each object at the end of the links.
  private func visit(
    _ cursor: ObjectCursor,
    _ body: (ObjectCursor) throws -> Void
  ) throws {
    try walk(to: hops.count, cursor, body)
  }

  /// Calls `body` with each object that the steps before `end` lead to.
  private func walk(
    to end: Int,
    _ cursor: ObjectCursor,
    _ body: (ObjectCursor) throws -> Void
  ) throws {
    repeated = 0
    if isDistinct { for level in hops.indices where fansOutAgain[level] { seen[level] = [] } }
    try follow(0, to: end, cursor, body)
  }

  /// Calls `body` with each object that the steps from `level` to `end` lead to.
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

  /// Calls `body` with each link at the end, and with null for a single link that is null.
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

  /// Whether the last step leads to null where it leads to no object.
  private var givesNull: Bool {
    switch hops.last {
    case .link, .element(_, .key): true
    default: false
    }
  }

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
          throw QueryError(
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
      var picked: [ValueView] = []
      try select(cursor.value(property), [step]) { picked.append($0) }
      for link in picked { try body(link) }
    case .backlinks(let table, let column):
      for key in try cursor.origins(from: table, column) { try body(.link(table, key)) }
    }
  }

  /// The keys of the objects at the end of the links, for a subquery.
  func objects(_ cursor: ObjectCursor) throws -> [ObjKey] {
    var keys: [ObjKey] = []
    try forEach(cursor, isLast: false) { (link) throws in
      if case .link(_, let key) = link { keys.append(key) }
    }
    return keys
  }

  /// Whether a link before the last step is null, so that there is nothing to read.
  func leadsNowhere(_ cursor: ObjectCursor) throws -> Bool {
    guard !hops.isEmpty else { return false }
    if case .objects = goal { return false }
    var isReached = false
    try forEach(cursor, isLast: false) { (_) throws in isReached = true }
    return !isReached
  }

  /// The class that the links at the end lead to; nil if it ends with something else.
  var linkTarget: Table? {
    if case .objects = goal { table } else { nil }
  }

  /// Whether the path is a list of links.
  var isListOfObjects: Bool {
    guard case .objects = goal, case .value = ending, let last = hops.last else { return false }
    return !Self.areSingle([last])
  }
}

extension ValueView {
  /// The number of elements of a collection, or of bytes of a text; nil for other values.
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
