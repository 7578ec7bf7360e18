// Renders objects as JSON text: properties in schema order, links as primary keys, embedded objects nested.
//
// Invariant: rendering terminates for any file content. Nesting and length are bounded, and a link is followed only to
// the primary key of its target.

public import RealmPages

/// Renders the objects of one snapshot.
///
/// It keeps cursors for the tables that it has read, so rendering many objects with one renderer is much cheaper than
/// creating a renderer for each. Not thread-safe: one thread at a time.
public final class ObjectRenderer {
  /// The snapshot that objects are read from.
  public let snapshot: Snapshot
  /// The notation of values.
  public let style: JSONStyle
  /// True if a set is rendered as its distinct texts, sorted, instead of its elements in stored order.
  ///
  /// The stored order of links follows object keys, which differ between realms with the same objects.
  package var sortsSets = false
  /// True if strings are charged to the work budget, for a traversal that renders each property once. In a damaged
  /// file, several objects can share one string; in a valid file, only objects with an enumerated property do.
  package var chargesTexts = false
  /// Keys that links to objects without a primary key show instead of the keys of the objects.
  package var renumbered: [ObjectReference: ObjKey] = [:]

  /// Limits that are reached only in a damaged or malicious file.
  struct Limits {
    /// The maximum nesting of collections and embedded objects.
    ///
    /// The format allows 100 levels in a Mixed.
    var depth = 200
    /// The maximum length of the text of one object in bytes.
    var length: Int

    /// Creates the limits for a file of this size in bytes.
    ///
    /// The densest content of a valid file is a list of zeros, 1000 of them in 16 bytes. A text larger than 16 MiB plus
    /// 4096 times the file size therefore comes from cyclic trees.
    init(fileSize: Int) {
      length = min(1 << 30, (1 << 24) + 4096 * min(fileSize, 1 << 18))
    }
  }

  private let limits: Limits
  /// The work budget to which collections and embedded objects are charged.
  private let effort: Effort
  /// True if the budget covers all objects together.
  private let isSweep: Bool
  private let typedForm: ValueForm
  private let mixedForm: ValueForm
  /// Indexed by table slot.
  private var plans: [TablePlan?] = []

  /// Creates a renderer with an empty cache.
  public convenience init(_ snapshot: Snapshot, style: JSONStyle = .plain) {
    self.init(snapshot, style: style, limits: Limits(fileSize: snapshot.logicalSize))
  }

  /// Creates a renderer for a traversal that visits each object once and charges all of them to `effort`.
  package convenience init(_ snapshot: Snapshot, style: JSONStyle = .plain, sweep effort: Effort) {
    self.init(snapshot, style: style, limits: Limits(fileSize: snapshot.logicalSize), sweep: effort)
  }

  /// Creates a renderer that rejects objects whose text is longer than `limit` bytes.
  package convenience init(_ snapshot: Snapshot, style: JSONStyle = .plain, limit: Int) {
    var limits = Limits(fileSize: snapshot.logicalSize)
    limits.length = min(limits.length, limit)
    self.init(snapshot, style: style, limits: limits)
  }

  init(_ snapshot: Snapshot, style: JSONStyle, limits: Limits, sweep effort: Effort? = nil) {
    self.snapshot = snapshot
    self.style = style
    self.limits = limits
    self.effort = effort ?? Effort(snapshot)
    isSweep = effort != nil
    typedForm = style.typedForm
    mixedForm = style.mixedForm
  }

  /// Appends the object of `table` with this key to `out`; returns false if it does not exist.
  ///
  /// Cost: O(log n) plus the length of the text. On error, `out` is unchanged.
  public func render(
    _ table: Table,
    _ key: ObjKey,
    layout: JSONLayout,
    into out: OutputBuffer
  ) throws(RenderError) -> Bool {
    guard key.value >= 0 else { return false }
    let plan = plan(of: table)
    do {
      guard try plan.cursor.find(key) else { return false }
    } catch {
      throw error.about(plan, key)
    }
    try render(plan, plan.cursor, layout, out)
    return true
  }

  /// Appends the object at `cursor` to `out`. The cursor must belong to this renderer's snapshot.
  ///
  /// Cost: the length of the text. On error, `out` is unchanged.
  public func render(_ cursor: ObjectCursor, layout: JSONLayout, into out: OutputBuffer) throws(RenderError) {
    try render(plan(of: cursor.table), cursor, layout, out)
  }

  /// Appends the value of one property, given by its column index, of the object at `cursor`: JSON text on one line
  /// without a line break.
  ///
  /// Cost: the length of the text. On error, `out` is unchanged.
  public func render(property index: Int, of cursor: ObjectCursor, into out: OutputBuffer) throws(RenderError) {
    let value: ValueView
    do { value = try read(index, of: cursor) } catch {
      throw error.about(plan(of: cursor.table), cursor.key)
    }
    try render(value, property: index, of: cursor, into: out)
  }

  /// Reads a property and charges it as rendering does, for a caller that writes the text itself.
  package func read(_ index: Int, of cursor: ObjectCursor) throws(RenderError) -> ValueView {
    try read(plan(of: cursor.table).properties[index], index, cursor)
  }

  @inline(__always)
  private func read(
    _ property: TablePlan.Property,
    _ index: Int,
    _ cursor: ObjectCursor
  ) throws(RenderError) -> ValueView {
    let value = try cursor.read(index)
    if chargesTexts, property.ownsTexts { try effort.charge(for: value) }
    return value
  }

  /// Appends a value that was read from a property, or an element of it, like `render(property:of:into:)`.
  public func render(
    _ value: ValueView,
    property index: Int,
    of cursor: ObjectCursor,
    into out: OutputBuffer
  ) throws(RenderError) {
    if !isSweep { effort.renew() }
    let plan = plan(of: cursor.table), start = out.count
    var writer = JSONWriter(out, .compact, limit: start + limits.length)
    do {
      try self.value(value, isMixed: plan.properties[index].isMixed, depth: 0, &writer)
    } catch {
      out.truncate(to: start)
      throw error.within(plan.table.columns[index].name).about(plan, cursor.key)
    }
  }

  /// Returns the error for a failure to read a path from the object at `cursor`.
  public func error(_ reason: RenderError.Reason, reading name: String, of cursor: ObjectCursor) -> RenderError {
    RenderError(reason).within(name).about(plan(of: cursor.table), cursor.key)
  }

  /// Appends a value that does not come from a property. If `isMixed`, its text includes its type.
  public func render(_ value: ValueView, isMixed: Bool, into out: OutputBuffer) throws(RenderError) {
    if !isSweep { effort.renew() }
    let start = out.count
    var writer = JSONWriter(out, .compact, limit: start + limits.length)
    do { try self.value(value, isMixed: isMixed, depth: 0, &writer) } catch {
      out.truncate(to: start)
      throw error
    }
  }

  /// Charges a collection as rendering does, for a caller that reads the elements itself.
  package func enter(_ collection: ValueView) throws(RenderError) {
    try effort.charge { (effort) throws(EngineError) in
      switch collection {
      case .list(let list), .set(let list): try effort.enter(list)
      case .dictionary(let entries): try effort.enter(entries)
      default: break
      }
    }
  }

  private func render(
    _ plan: TablePlan,
    _ cursor: ObjectCursor,
    _ layout: JSONLayout,
    _ out: OutputBuffer
  ) throws(RenderError) {
    if !isSweep { effort.renew() }
    let start = out.count
    var writer = JSONWriter(out, layout, limit: start + limits.length)
    do {
      try object(plan, cursor, depth: 0, &writer)
    } catch {
      out.truncate(to: start)
      throw error.about(plan, cursor.key)
    }
    writer.finish()
  }

  // MARK: plans

  private func plan(of table: Table) -> TablePlan {
    if let plan = knownPlan(table.key) { return plan }
    let plan = TablePlan(table)
    while plans.count <= table.key.slot { plans.append(nil) }
    plans[table.key.slot] = plan
    return plan
  }

  private func knownPlan(_ key: TableKey) -> TablePlan? {
    guard key.slot < plans.count, let plan = plans[key.slot], plan.table.key == key else { return nil }
    return plan
  }

  // MARK: values

  private func object(
    _ plan: TablePlan,
    _ cursor: ObjectCursor,
    depth: Int,
    _ writer: inout JSONWriter
  ) throws(RenderError) {
    if depth > limits.depth { throw RenderError(.tooDeep) }
    writer.beginObject()
    for index in plan.properties.indices {
      let property = plan.properties[index]
      writer.next(isFirst: index == 0)
      writer.out.append(plan.names, in: property.name)
      writer.endName()
      do {
        try value(read(property, index, cursor), isMixed: property.isMixed, depth: depth, &writer)
      } catch {
        throw error.within(plan.table.columns[index].name)
      }
    }
    writer.endObject(isEmpty: plan.properties.isEmpty)
  }

  private func value(
    _ value: ValueView,
    isMixed: Bool,
    depth: Int,
    _ writer: inout JSONWriter
  ) throws(RenderError) {
    if writer.isOverLimit { throw RenderError(.tooLarge) }
    if writer.scalar(value, isMixed ? mixedForm : typedForm) { return }
    switch value {
    case .link(let table, let key): try link(to: table, key, isMixed: isMixed, depth: depth, &writer)
    case .list(let list): try array(list, isMixed: isMixed, depth: depth + 1, &writer)
    case .set(let list): try array(list, isMixed: isMixed, isSorted: sortsSets, depth: depth + 1, &writer)
    case .dictionary(let entries): try dictionary(entries, isMixed: isMixed, depth: depth + 1, &writer)
    default: break
    }
  }

  // MARK: collections

  private func array(
    _ list: ListView,
    isMixed: Bool,
    isSorted: Bool = false,
    depth: Int,
    _ writer: inout JSONWriter
  ) throws(RenderError) {
    if depth > limits.depth { throw RenderError(.tooDeep) }
    try effort.charge { (effort) throws(EngineError) in try effort.enter(list) }
    var list = list
    var isEmpty = true
    writer.beginArray()
    /// Elements that were rendered and removed from the output, to be sorted.
    var texts: [[UInt8]] = [], length = 0
    for index in 0..<list.count {
      let element = try list.read(index)
      if !isMixed, case .link(_, let key) = element, key.isUnresolved, !isShown(key) {
        // Omit links to tombstones.
        writer.limit -= 1
        if writer.isOverLimit { throw RenderError(.tooLarge) }
        continue
      }
      if !isSorted { writer.next(isFirst: isEmpty) }
      isEmpty = false
      try effort.charge(for: element)
      let start = writer.out.count
      try value(element, isMixed: isMixed, depth: depth, &writer)
      if isSorted {
        texts.append(writer.out.bytes(from: start))
        length += writer.out.count - start
        if start + length > writer.limit { throw RenderError(.tooLarge) }
        writer.out.truncate(to: start)
      }
    }
    texts.sort { $0.lexicographicallyPrecedes($1) }
    for (index, text) in texts.enumerated() where index == 0 || text != texts[index - 1] {
      writer.next(isFirst: index == 0)
      writer.out.append(text)
    }
    writer.endArray(isEmpty: isEmpty)
  }

  /// The three notations of a dictionary.
  private enum DictionaryShape {
    case object
    /// Inside `{"$dictionary":..}`, so that a key that begins with `$` is not mistaken for a type.
    case wrappedObject
    /// `{"$dictionary":[[key,value],..]}`: a key that is not UTF-8 cannot be the name of a member.
    case wrappedPairs
  }

  private func dictionary(
    _ entries: DictionaryView,
    isMixed: Bool,
    depth: Int,
    _ writer: inout JSONWriter
  ) throws(RenderError) {
    if depth > limits.depth { throw RenderError(.tooDeep) }
    try effort.charge { (effort) throws(EngineError) in try effort.enter(entries) }
    let shape = try shape(of: entries)
    if shape != .object { writer.beginWrapper("$dictionary") }
    try members(entries, inPairs: shape == .wrappedPairs, isMixed: isMixed, depth: depth, &writer)
    if shape != .object { writer.endObject() }
  }

  private func shape(of entries: DictionaryView) throws(RenderError) -> DictionaryShape {
    var entries = entries
    var shape = DictionaryShape.object
    for index in 0..<entries.count {
      let key = try entries.readKey(index)
      if !key.withSpan({ UTF8Sequence.isValid($0) }) { return .wrappedPairs }
      if key.withSpan({ unsafe $0.byteCount > 0 && $0.unsafeLoad(as: UInt8.self) == UInt8(ascii: "$") }) {
        shape = .wrappedObject
      }
    }
    return shape
  }

  /// Writes the entries as the members of an object, or as an array of pairs.
  private func members(
    _ entries: DictionaryView,
    inPairs: Bool,
    isMixed: Bool,
    depth: Int,
    _ writer: inout JSONWriter
  ) throws(RenderError) {
    var entries = entries
    if inPairs { writer.beginArray() } else { writer.beginObject() }
    for index in 0..<entries.count {
      writer.next(isFirst: index == 0)
      if inPairs {
        writer.beginArray()
        writer.next(isFirst: true)
      }
      try writer.string(entries.readKey(index))
      if inPairs { writer.next(isFirst: false) } else { writer.endName() }
      let entry = try entries.read(index)
      try effort.charge(for: entry)
      try value(entry, isMixed: isMixed, depth: depth, &writer)
      if inPairs { writer.endArray() }
    }
    if inPairs { writer.endArray() } else { writer.endObject(isEmpty: entries.count == 0) }
  }

  // MARK: links

  /// Returns the value shown for a typed property. A link is shown as the primary key of its target, or the target's
  /// object key if the class has no primary key; a hidden link is shown as null. A link to an embedded object, or to an
  /// object whose primary key is null, is returned unchanged.
  package func shown(_ value: ValueView) throws(RenderError) -> ValueView {
    guard case .link(let tableKey, let key) = value else { return value }
    if key.value < 0, !isShown(key) { return .null }
    let target = try target(tableKey, key)
    if target.table.kind == .embedded { return value }
    guard try target.targetCursor.find(key) else {
      throw RenderError(.missingTarget(table: target.shownName, key: key))
    }
    let primaryKey = try primaryKey(target, key)
    if case .null = primaryKey { return value }
    return primaryKey
  }

  /// True if a link to an object that does not exist is shown, because a branch expects the object.
  private func isShown(_ key: ObjKey) -> Bool { key.isExpected && snapshot.showsExpectedObjects }

  private func link(
    to tableKey: TableKey,
    _ key: ObjKey,
    isMixed: Bool,
    depth: Int,
    _ writer: inout JSONWriter
  ) throws(RenderError) {
    if key.value < 0, !isShown(key) {
      writer.null()
      return
    }
    let target = try target(tableKey, key)
    if !isMixed && target.table.kind == .embedded {
      try embedded(target, key, depth: depth + 1, &writer)
      return
    }
    guard try target.targetCursor.find(key) else {
      throw RenderError(.missingTarget(table: target.shownName, key: key))
    }
    let primaryKey = try primaryKey(target, key)
    let needsClass: Bool = if case .null = primaryKey { true } else { isMixed || typedForm != .bare }
    if needsClass {
      writer.beginObject()
      writer.member("$ref", isFirst: true)
      writer.out.append(quoted: target.shownName)
      writer.member("$id")
      try value(primaryKey, isMixed: false, depth: depth, &writer)
      writer.endObject()
    } else {
      try value(primaryKey, isMixed: false, depth: depth, &writer)
    }
  }

  /// Returns the plan of the table that a link points to.
  private func target(_ tableKey: TableKey, _ key: ObjKey) throws(RenderError) -> TablePlan {
    if let plan = knownPlan(tableKey) { return plan }
    guard let table = try snapshot.readTable(tableKey) else {
      throw RenderError(.missingTarget(table: "table \(tableKey)", key: key))
    }
    return plan(of: table)
  }

  /// Returns the primary key of the object at the target cursor, or its object key if the class has no primary key.
  private func primaryKey(_ target: TablePlan, _ key: ObjKey) throws(RenderError) -> ValueView {
    guard let index = target.table.primaryKeyIndex else {
      if renumbered.isEmpty { return .int(key.value) }
      return .int((renumbered[ObjectReference(table: target.table.key, key: key)] ?? key).value)
    }
    let value = try target.targetCursor.read(index)
    switch value {
    case .null, .int, .string, .objectID, .uuid: return value
    default: throw RenderError(.badPrimaryKey(table: target.shownName, key: key))
    }
  }

  private func embedded(
    _ target: TablePlan,
    _ key: ObjKey,
    depth: Int,
    _ writer: inout JSONWriter
  ) throws(RenderError) {
    // An embedded object occupies at least the bits of the link to it and of its backlink.
    try effort.charge { (effort) throws(EngineError) in try effort.spend(1) }
    let cursor = target.takeEmbeddedCursor()
    defer { target.giveBackEmbeddedCursor() }
    guard try cursor.find(key) else {
      throw RenderError(.missingTarget(table: target.shownName, key: key))
    }
    try object(target, cursor, depth: depth, &writer)
  }
}

extension RenderError {
  /// Returns the error with the object concerned added.
  fileprivate func about(_ plan: TablePlan, _ key: ObjKey) -> RenderError {
    var error = self
    error.object = "\(plan.shownName)/\(key)"
    return error
  }
}
