// Merges two realms that were made from a common base, or two realms without one: the changes from the base to theirs
// are applied to ours, in one transaction.
//
// Objects are matched as `RealmComparison` matches them, values are merged by `ValueMerge`. What both sides changed
// differently is a conflict: it is reported, and the realm keeps the value of ours unless the user prefers theirs.
// Deletions come last. If an object of ours still links to an object that theirs deleted, the deletion is a conflict.

import RealmJSON
import RealmNames
public import RealmPages

/// Merges a realm into another.
public final class RealmMerge {
  /// One of the two realms that are merged.
  public enum Side: String, CaseIterable, Sendable {
    /// The realm that is changed.
    case ours
    /// The realm whose changes are applied.
    case theirs
  }

  /// An object that both sides changed differently.
  public struct Conflict: Sendable {
    /// The class.
    public let className: String
    /// The name of the object's file in a mount.
    public let name: String
    /// The reason, in words.
    public let reason: String
    /// The paths of the values that differ, such as `address.city`; empty if the whole object is concerned.
    public let properties: [String]
    /// The object as JSON in the base; nil if it does not exist there.
    public let base: String?
    /// The object as JSON in ours; nil if it does not exist there.
    public let ours: String?
    /// The object as JSON in theirs; nil if it does not exist there.
    public let theirs: String?
  }

  /// The number of objects that a merge changed.
  public struct Summary: Sendable {
    /// Objects of theirs that were created in ours.
    public internal(set) var created = 0
    /// Objects of ours that were changed.
    public internal(set) var changed = 0
    /// Objects of ours that were deleted.
    public internal(set) var deleted = 0
    /// Conflicts, all decided for the preferred side if there is one.
    public internal(set) var conflicts = 0
    /// New objects of theirs without a primary key that have new keys, because ours has other objects under theirs.
    public internal(set) var renumbered = 0
  }

  /// A change of an object of ours since the base.
  private enum Change {
    case added, removed
    case changed([(property: String, old: String, new: String)])
  }

  /// An object on both sides: its class and the name of its file.
  private struct Identity: Hashable {
    let className: ExactName
    let name: ExactName

    init(_ className: String, _ name: String) {
      (self.className, self.name) = (ExactName(className), ExactName(name))
    }
  }

  /// The keys of an object in the base and on both sides.
  private struct Keys {
    var base: ObjKey?
    var ours: ObjKey?
    var theirs: ObjKey?
    /// The text by which links refer to the object, if it was deleted.
    var id: [UInt8]?
  }

  /// A deletion by theirs.
  private struct Deletion {
    let identity: Identity
    let object: ObjectReference
    let keys: Keys
  }

  private let base: Snapshot?
  private let ours: Snapshot
  private let theirs: Snapshot
  private let preferred: Side?
  private let texts: (base: ObjectTexts?, ours: ObjectTexts, theirs: ObjectTexts)
  private var values: ValueMerge
  private let schema: SchemaMerge
  private let applier = RecordApplier<Pending>(remaining: .leaveOut)

  private var changes: [Identity: (change: Change, keys: Keys)] = [:]
  /// The objects that ours deleted, without those created again, by class and primary key as text.
  private var removed: [ExactName: [[UInt8]: (identity: Identity, keys: Keys)]] = [:]
  /// Objects that ours deleted, to be created again because objects of theirs, the preferred side, link to them.
  private var restorations: [(identity: Identity, keys: Keys)] = []
  private var deletions: [Deletion] = []
  /// The objects whose conflict was reported; each is reported once.
  private var reported: Set<Identity> = []
  private var renumbered: [ObjectReference: ObjKey] = [:]
  /// True if the objects without a primary key that both sides added are the same.
  private var sharesAdditions = false
  private var summary = Summary()

  /// The objects that stay although one side deleted them, by class and primary key as text.
  private var kept: [ExactName: Set<[UInt8]>]
  private var conflicts: [Conflict] = []

  /// A text to be applied when all objects exist, and the object for messages.
  private struct Pending {
    let text: [UInt8]
    let identity: Identity
  }

  /// Merges `theirs` into the realm of `writer`, the newest version of which is ours, and commits. Returns the
  /// conflicts as well, also those that `preferred` decides.
  ///
  /// Cost: all three realms are read, base and theirs twice if ours removed a class or property, plus O(log n) for each
  /// object that differs; memory proportional to the number of differing objects. All of it is repeated if an object
  /// stays although one side deleted it, because the links to it must stay as well.
  ///
  /// - Throws: `unsuitable` if the schemas cannot be merged, `damaged` if an object cannot be read. Nothing is then
  ///   committed.
  public static func run(
    base: Snapshot?,
    theirs: Snapshot,
    into writer: RealmWriter,
    preferring preferred: Side? = nil
  ) throws -> (summary: Summary, conflicts: [Conflict]) {
    var kept: [ExactName: Set<[UInt8]>] = [:]
    while true {
      let transaction = try writer.begin()
      let merge = try RealmMerge(base, transaction.former, theirs, preferred, kept)
      try merge.apply(to: transaction)
      if merge.kept == kept {
        if transaction.hasChanges { _ = try transaction.commit() }
        return (merge.summary, merge.conflicts)
      }
      kept = merge.kept
      transaction.rollback()
    }
  }

  private init(
    _ base: Snapshot?,
    _ ours: Snapshot,
    _ theirs: Snapshot,
    _ preferred: Side?,
    _ kept: [ExactName: Set<[UInt8]>]
  ) throws {
    (self.base, self.ours, self.theirs, self.preferred) = (base, ours, theirs, preferred)
    self.kept = kept
    texts = (base.map(ObjectTexts.init), ObjectTexts(ours), ObjectTexts(theirs))
    let old = try base.map { (snapshot) throws(EngineError) in try SchemaDescription(snapshot) }
    schema = SchemaMerge(base: old, ours: try SchemaDescription(ours), theirs: try SchemaDescription(theirs))
    values = ValueMerge(schema.schema, prefersTheirs: preferred == .theirs)
  }

  private func apply(to transaction: borrowing WriteTransaction) throws {
    if !schema.problems.isEmpty { throw Self.refusal(schema.problems) }
    if let base {
      try compare(base, ours) { difference, keys in note(difference, keys) }
    }
    try checkRemovals()
    try schema.apply(to: transaction)
    try restoreLinks(transaction)
    if base != nil { try renumber() }
    try compare(base ?? ours, theirs) { difference, keys in
      if self.base == nil { try unite(difference, keys, transaction) } else { try merge(difference, keys, transaction) }
    }
    while let next = restorations.popLast() { try restore(next.identity, next.keys, transaction) }
    for record in applier.waiting {
      let outcome = try applying(record.place.identity) { () throws(InputError) in
        try applier.finish(record, try JSONText(record.place.text), in: transaction)
      }
      if outcome.hasChanged, !outcome.wasCreated { summary.changed += 1 }
    }
    try delete(transaction)
  }

  private static func refusal(_ problems: [String]) -> TransferError {
    let more = problems.count > 10 ? "; \(problems.count - 10) more" : ""
    return .unsuitable(
      "the schemas cannot be merged: \(problems.prefix(10).joined(separator: "; "))\(more); make them agree first, "
        + "such as with 'realmfs class' and 'realmfs property'"
    )
  }

  /// Calls `body` with each difference and the keys of its object. A damaged object ends the merge, because it would
  /// look like a deleted one.
  private func compare(
    _ old: Snapshot,
    _ new: Snapshot,
    _ body: (Difference, (old: ObjKey?, new: ObjKey?)) throws -> Void
  ) throws {
    let comparison = RealmComparison(old, new, classes: nil)
    comparison.comparesNewProperties = true
    if new === theirs { comparison.renumbered = renumbered }
    var damage: String?
    comparison.onComplaint = { damage = damage ?? $0 }
    try comparison.run { difference in
      if damage == nil { try body(difference, comparison.keys) }
    }
    if let damage { throw TransferError.damaged("\(damage); 'realmfs recover' saves the readable objects") }
  }

  // MARK: changes of ours

  private func note(_ difference: Difference, _ keys: (old: ObjKey?, new: ObjKey?)) {
    var known = Keys(base: keys.old, ours: keys.new)
    switch difference {
    case .schema: break
    case .added(let className, let name, _): changes[Identity(className, name)] = (.added, known)
    case .changed(let className, let name, let properties):
      changes[Identity(className, name)] = (.changed(properties), known)
    case .removed(let className, let name, let text):
      let identity = Identity(className, name)
      known.id = id(text, className, keys.old)
      changes[identity] = (.removed, known)
      if let id = known.id { removed[identity.className, default: [:]][id] = (identity, known) }
    }
  }

  /// Returns the text by which links refer to an object.
  private func id(_ text: String, _ className: String, _ key: ObjKey?) -> [UInt8]? {
    guard let column = schema.schema[className]?.primaryKey else {
      return key.map { Array(String($0.value).utf8) }
    }
    // The text was just rendered, so it is valid.
    return (try? TextValue(Array(text.utf8)))?[column]?.bytes
  }

  /// Throws if one side changed values that the other side removed with their class or property.
  private func checkRemovals() throws {
    var problems: [String] = []
    /// Checks an object of `side`, of which these properties changed; nil means all.
    func check(_ side: Side, _ className: String, _ properties: [String]?) {
      for removal in schema.removals where removal.side != side {
        let text =
          "\(removal.place) is removed in \(removal.side.rawValue.uppercased()), but "
          + "\(side.rawValue.uppercased()) changed objects that have it"
        if schema.concerns(removal, properties, of: className), !problems.contains(text) { problems.append(text) }
      }
    }
    for (identity, known) in changes {
      switch known.change {
      case .added: check(.ours, identity.className.text, nil)
      case .removed: break
      case .changed(let properties): check(.ours, identity.className.text, properties.map(\.property))
      }
    }
    if let base, schema.removals.contains(where: { $0.side == .ours }) {
      try compare(base, theirs) { difference, _ in
        switch difference {
        case .schema, .removed: break
        case .added(let className, _, _): check(.theirs, className, nil)
        case .changed(let className, _, let properties): check(.theirs, className, properties.map(\.property))
        }
      }
    }
    if !problems.isEmpty { throw Self.refusal(problems.sorted()) }
  }

  // MARK: objects that stay

  /// Keeps an object that one side deleted.
  private func keep(_ identity: Identity, _ keys: Keys) {
    if let id = keys.id { kept[identity.className, default: []].insert(id) }
  }

  /// Returns a change without the removal of links to objects that stay: their deletion removed these links.
  private func keepingLinks(
    _ change: (property: String, old: String, new: String),
    _ identity: Identity
  ) throws -> (property: String, old: String, new: String) {
    if kept.isEmpty || change.old.isEmpty { return change }
    return try applying(identity) { () throws(InputError) in
      let old = try TextValue(Array(change.old.utf8)), className = identity.className.text
      let rest = values.removingLinks(in: old, property: change.property, of: className) { target, id in
        kept[ExactName(target)]?.contains(id) ?? false
      }
      if rest == old { return change }
      var merge = ValueMerge(schema.schema, prefersTheirs: true)
      let new = try TextValue(Array(change.new.utf8))
      let merged = merge.merge(base: rest, ours: old, theirs: new, property: change.property, of: className)
      if !merge.takeConflicts().isEmpty { return change }
      let text = merged == old ? change.old : String(decoding: merged.bytes, as: UTF8.self)
      return (change.property, change.old, text)
    }
  }

  /// Restores links of ours to objects that ours deleted and that stay.
  private func restoreLinks(_ transaction: borrowing WriteTransaction) throws {
    if kept.isEmpty { return }
    for (identity, known) in changes {
      guard case .changed(let own) = known.change, let table = try table(identity.className.text, transaction) else {
        continue
      }
      let full = try own.map { change in try keepingLinks(change, identity) }
      let restored = zip(own, full).filter { !$0.new.isExactly($1.new) }.map { ($1.property, Array($1.new.utf8)) }
      if restored.isEmpty { continue }
      changes[identity] = (.changed(full), known.keys)
      try patch(restored, identity, known.keys, table, transaction)
    }
  }

  // MARK: objects without a primary key

  /// Finds new keys for the objects of theirs whose keys ours gave to other new objects. If all objects that both sides
  /// added under the same key are equal, they are the same objects.
  private func renumber() throws {
    var collisions: [(table: Table, keys: [ObjKey])] = [], areEqual = true
    for table in try theirs.classes() where table.primaryKey == nil && table.kind != .embedded {
      guard let known = try ours.table(named: table.name) else { continue }
      let old = try base?.table(named: table.name)
      let cursor = ObjectCursor(table)
      var keys: [ObjKey] = []
      while try cursor.next() {
        if try known.contains(cursor.key), try old?.contains(cursor.key) != true { keys.append(cursor.key) }
      }
      if !keys.isEmpty { collisions.append((table, keys)) }
    }
    for (table, keys) in collisions {
      for key in keys where areEqual {
        areEqual = try texts.ours.value(table.name, key) == texts.theirs.value(table.name, key)
      }
    }
    sharesAdditions = areEqual
    if areEqual { return }
    for (table, keys) in collisions { try renumber(keys, table) }
    texts.theirs.renumbered = renumbered
  }

  private func renumber(_ keys: [ObjKey], _ table: Table) throws {
    var free: Int64 = 0
    guard let known = try ours.table(named: table.name) else { return }
    for table in [known, table] {
      let cursor = ObjectCursor(table)
      while try cursor.next() { free = max(free, cursor.key.value) }
    }
    for key in keys {
      let (next, isOver) = free.addingReportingOverflow(1)
      if isOver { throw TransferError.unsuitable("class \(table.className ?? table.name) has no free object key") }
      free = next
      renumbered[ObjectReference(table: table.key, key: key)] = ObjKey(free)
    }
    summary.renumbered += keys.count
  }

  // MARK: changes of theirs

  private func merge(
    _ difference: Difference,
    _ found: (old: ObjKey?, new: ObjKey?),
    _ transaction: borrowing WriteTransaction
  ) throws {
    var keys = Keys(base: found.old, theirs: found.new)
    switch difference {
    case .schema: break
    case .added(let className, let name, let text):
      let identity = Identity(className, name)
      guard let table = try table(className, transaction) else { return }
      let known = changes[identity]
      if table.primaryKey == nil {
        if known != nil, sharesAdditions { return }
        try create(text, identity, keys, table, transaction)
      } else if let known {
        keys.ours = known.keys.ours
        try mergeAdded(text, identity, keys, table, transaction)
      } else {
        try create(text, identity, keys, table, transaction)
      }
    case .removed(let className, let name, let text):
      let identity = Identity(className, name)
      guard let table = try table(className, transaction) else { return }
      let known = changes[identity]
      if case .removed? = known?.change { return }
      keys.id = id(text, className, found.old)
      keys.ours = known?.keys.ours
      if known == nil { keys.ours = try oursKey(of: found.old, base, table, transaction) }
      guard let key = keys.ours else { return }
      if known != nil {
        try conflict(identity, "changed in OURS, deleted in THEIRS", [], keys)
        if preferred != .theirs { return keep(identity, keys) }
      }
      deletions.append(
        Deletion(identity: identity, object: ObjectReference(table: table.key, key: key), keys: keys)
      )
    case .changed(let className, let name, let properties):
      let identity = Identity(className, name)
      guard let table = try table(className, transaction) else { return }
      switch changes[identity] {
      case (.removed, let known)?:
        keys.id = known.id
        try conflict(identity, "deleted in OURS, changed in THEIRS", [], keys)
        if preferred == .theirs { try restore(identity, keys, transaction) }
      case (.changed(let own), let known)?:
        keys.ours = known.ours
        try merge(properties, own, identity, keys, table, transaction)
      default:
        keys.ours = try oursKey(of: found.old, base, table, transaction)
        try merge(properties, [], identity, keys, table, transaction)
      }
    }
  }

  /// Adds an object of theirs, or merges it with the equal one of ours; there is no base.
  private func unite(
    _ difference: Difference,
    _ found: (old: ObjKey?, new: ObjKey?),
    _ transaction: borrowing WriteTransaction
  ) throws {
    let keys = Keys(ours: found.old, theirs: found.new)
    switch difference {
    case .schema, .removed: break
    case .added(let className, let name, let text):
      guard let table = try table(className, transaction) else { return }
      try create(text, Identity(className, name), keys, table, transaction)
    case .changed(let className, let name, let properties):
      guard let table = try table(className, transaction) else { return }
      let identity = Identity(className, name)
      if table.primaryKey == nil {
        try conflict(
          identity,
          "the class has no primary key, so without BASE it is unknown whether these are the same object",
          properties.map(\.property),
          keys
        )
        if preferred != .theirs { return }
        let texts = properties.map { ($0.property, Array($0.new.utf8)) }
        return try patch(texts, identity, keys, table, transaction)
      }
      let own = properties.map { ($0.property, old: "", new: $0.old) }
      let new = properties.map { ($0.property, old: "", new: $0.new) }
      try merge(new, own.filter { !$0.new.isEmpty }, identity, keys, table, transaction)
    }
  }

  /// Merges the changed properties of an object. The old text of a property is empty if the base does not have it.
  private func merge(
    _ properties: [(property: String, old: String, new: String)],
    _ own: [(property: String, old: String, new: String)],
    _ identity: Identity,
    _ keys: Keys,
    _ table: Table,
    _ transaction: borrowing WriteTransaction
  ) throws {
    var merged: [(String, [UInt8])] = []
    for change in properties {
      let change = try keepingLinks(change, identity)
      if change.old.isExactly(change.new) { continue }
      guard let other = own.first(where: { $0.property.isExactly(change.property) }) else {
        merged.append((change.property, Array(change.new.utf8)))
        continue
      }
      let value = try applying(identity) { () throws(InputError) in
        let texts = [change.old, other.new, change.new].map { Array($0.utf8) }
        let base: TextValue?
        if texts[0].isEmpty { base = nil } else { base = try TextValue(texts[0]) }
        return values.merge(
          base: base,
          ours: try TextValue(texts[1]),
          theirs: try TextValue(texts[2]),
          property: change.property,
          of: identity.className.text
        )
      }
      merged.append((change.property, value.bytes))
    }
    try patch(merged, identity, keys, table, transaction)
  }

  /// Merges an object that both sides added.
  private func mergeAdded(
    _ text: String,
    _ identity: Identity,
    _ keys: Keys,
    _ table: Table,
    _ transaction: borrowing WriteTransaction
  ) throws {
    guard let key = keys.ours, let ours = try texts.ours.value(table.name, key) else { return }
    let theirs = try applying(identity) { () throws(InputError) in try TextValue(Array(text.utf8)) }
    let merged = values.merge(base: nil, ours: ours, theirs: theirs, of: identity.className.text)
    guard case .object(let members) = merged else { return }
    let changed = members.filter { ours[String(decoding: $0.name, as: UTF8.self)] != $0.value }
    let properties = changed.map { (String(decoding: $0.name, as: UTF8.self), $0.value.bytes) }
    try patch(properties, identity, keys, table, transaction)
  }

  // MARK: applying texts

  /// Reports the conflicts in merged properties of an object of ours, and changes them. A property with a link to an
  /// object that ours deleted keeps the value of ours.
  private func patch(
    _ properties: [(name: String, text: [UInt8])],
    _ identity: Identity,
    _ keys: Keys,
    _ table: Table,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let parsed = try applying(identity) { () throws(InputError) in
      var values: [(String, TextValue)] = []
      for property in properties where !removed.isEmpty {
        values.append((property.name, try TextValue(property.text)))
      }
      return values
    }
    let paths = values.takeConflicts(), dangling = try checkLinks(parsed, identity)
    if !paths.isEmpty {
      let more = dangling.filter { !paths.contains($0) }
      try conflict(identity, "changed differently in OURS and THEIRS", paths + more, keys)
    } else if !dangling.isEmpty {
      try conflict(identity, Self.dangling, dangling, keys)
    }
    let properties = properties.filter { property in !dangling.contains { $0.isExactly(property.name) } }
    guard let key = keys.ours, !properties.isEmpty else { return }
    let text = OutputBuffer()
    for (index, property) in properties.enumerated() {
      text.append(index == 0 ? "{" : ",")
      text.append(string: Array(property.name.utf8))
      text.append(":")
      text.append(property.text)
    }
    text.append("}")
    applier.wait(
      for: Pending(text: text.bytes, identity: identity),
      ObjectReference(table: table.key, key: key)
    )
  }

  private func create(
    _ text: String,
    _ identity: Identity,
    _ keys: Keys,
    _ table: Table,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let bytes = Array(text.utf8)
    let value = removed.isEmpty ? .null : try applying(identity) { () throws(InputError) in try TextValue(bytes) }
    if case .object(let members) = value {
      let properties = members.map { (String(decoding: $0.name, as: UTF8.self), $0.value) }
      let dangling = try checkLinks(properties, identity)
      if !dangling.isEmpty { try conflict(identity, Self.dangling, dangling, keys) }
    }
    var target = PatchTarget.upsert
    if let key = keys.theirs, table.primaryKey == nil { target = .keyed(try newKey(key, identity)) }
    let outcome = try applying(identity) { () throws(InputError) in
      try applier.apply(
        try JSONText(bytes),
        at: Pending(text: bytes, identity: identity),
        to: target,
        of: table.key,
        in: transaction
      )
    }
    if outcome.wasCreated { summary.created += 1 }
  }

  private func newKey(_ key: ObjKey, _ identity: Identity) throws -> ObjKey {
    if renumbered.isEmpty { return key }
    let table = try theirs.table(named: Table.classPrefix + identity.className.text)
    return table.flatMap { renumbered[ObjectReference(table: $0.key, key: key)] } ?? key
  }

  private func applying<R>(
    _ identity: Identity,
    _ body: () throws(InputError) -> R
  ) throws -> R {
    do { return try body() } catch {
      if case .engine(let cause) = error.kind { throw cause }
      let path = error.path.isEmpty ? "" : ": \(error.path)"
      throw TransferError.unsuitable("\(identity.className.text)/\(identity.name.text)\(path): \(error.problem)")
    }
  }

  private static let dangling = "links in THEIRS to an object that OURS deleted"

  /// Reports the objects that ours deleted and values of theirs link to. If theirs is preferred, they are created
  /// again. Otherwise returns the names of the properties with such links.
  private func checkLinks(
    _ properties: [(name: String, value: TextValue)],
    _ identity: Identity
  ) throws -> [String] {
    var missing: [(identity: Identity, keys: Keys)] = [], dangling: [String] = []
    for (property, value) in properties {
      let count = missing.count
      values.forEachLink(in: value, property: property, of: identity.className.text) { target, id in
        if let found = removed[ExactName(target)]?[id] { missing.append(found) }
      }
      if missing.count > count { dangling.append(property) }
    }
    let source = "\(identity.className.text)/\(identity.name.text)"
    for (target, known) in missing {
      if preferred != .theirs, reported.contains(target) { continue }
      var keys = known
      keys.theirs = try theirsKey(of: keys.base, target.className.text)
      try conflict(target, "deleted in OURS, but \(source) in THEIRS links to it", [], keys)
      if preferred == .theirs, let id = keys.id, removed[target.className]?.removeValue(forKey: id) != nil {
        restorations.append((target, keys))
      }
    }
    return preferred == .theirs ? [] : dangling
  }

  /// Creates an object that ours deleted, as in theirs.
  private func restore(
    _ identity: Identity,
    _ keys: Keys,
    _ transaction: borrowing WriteTransaction
  ) throws {
    guard let table = try table(identity.className.text, transaction) else { return }
    // A conflict may concern it twice.
    if changes.removeValue(forKey: identity) == nil { return }
    keep(identity, keys)
    if let id = keys.id { removed[identity.className]?[id] = nil }
    guard let key = keys.theirs, let value = try texts.theirs.text(table.name, key) else { return }
    try create(value, identity, keys, table, transaction)
  }

  // MARK: deleting

  private func delete(_ transaction: borrowing WriteTransaction) throws {
    var kept: [ObjectReference: Origin] = [:]
    if preferred != .theirs {
      kept = try deletionsToRefuse(transaction)
    }
    for deletion in deletions {
      if let origin = kept[deletion.object] {
        try conflict(deletion.identity, "deleted in THEIRS, but \(origin.name) in OURS links to it", [], deletion.keys)
        keep(deletion.identity, deletion.keys)
        continue
      }
      try transaction.delete(deletion.object)
      summary.deleted += 1
    }
  }

  /// An object that remains and links to a deleted one.
  private struct Origin {
    let object: ObjectReference
    let name: String
  }

  /// Finds the deleted objects to which objects that remain link, each with one of those.
  private func deletionsToRefuse(
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> [ObjectReference: Origin] {
    let doomed = Set(deletions.map(\.object))
    var kept: [ObjectReference: Origin] = [:], pending: [ObjectReference] = []
    /// The deleted objects to which a deleted object links.
    var targets: [ObjectReference: [ObjectReference]] = [:]
    for object in deletions.map(\.object) {
      for origin in try transaction.origins(of: object.table, object.key) {
        if doomed.contains(origin) {
          if origin != object { targets[origin, default: []].append(object) }
        } else if kept[object] == nil {
          kept[object] = Origin(object: origin, name: try name(of: origin, transaction))
          pending.append(object)
        }
      }
    }
    // The targets of an object that is kept are kept as well.
    while let origin = pending.popLast() {
      for object in targets[origin] ?? [] where kept[object] == nil {
        kept[object] = Origin(object: origin, name: try name(of: origin, transaction))
        pending.append(object)
      }
    }
    return kept
  }

  // MARK: objects

  /// Returns a class of the merged realm; nil if it is removed.
  private func table(
    _ className: String,
    _ transaction: borrowing WriteTransaction
  ) throws -> Table? {
    guard let key = try transaction.tableKey(named: Table.classPrefix + className) else { return nil }
    return try transaction.table(key)
  }

  /// Returns the key in the merged realm of an object of another version.
  private func oursKey(
    of key: ObjKey?,
    _ snapshot: Snapshot?,
    _ table: Table,
    _ transaction: borrowing WriteTransaction
  ) throws -> ObjKey? {
    guard let key, let snapshot else { return nil }
    guard table.primaryKey != nil else { return key }
    guard let known = try snapshot.table(named: table.name), let index = known.primaryKeyIndex else { return nil }
    let cursor = ObjectCursor(known)
    guard try cursor.seek(key) else { return nil }
    return try transaction.objectKey(table.key, primaryKey: Value(copying: cursor.value(index)))
  }

  /// Returns the key in theirs of an object of the base.
  private func theirsKey(of key: ObjKey?, _ className: String) throws -> ObjKey? {
    guard let key, let base else { return nil }
    let name = Table.classPrefix + className
    guard let old = try base.table(named: name), let new = try theirs.table(named: name) else { return nil }
    guard let index = old.primaryKeyIndex else { return try new.contains(key) ? key : nil }
    let cursor = ObjectCursor(old)
    guard try cursor.seek(key), let value = PrimaryKey(try cursor.value(index)) else { return nil }
    return try new.objectKey(primaryKey: value)
  }

  private func name(
    of object: ObjectReference,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> String {
    let table = try transaction.table(object.table), text = OutputBuffer()
    let cursor = ObjectCursor(table)
    if try cursor.seek(object.key) {
      try NameEscaping.append(fileOf: cursor, column: table.primaryKeyIndex, to: text)
    }
    return "\(table.className ?? table.name)/\(text.string)"
  }

  private func conflict(
    _ identity: Identity,
    _ reason: String,
    _ properties: [String],
    _ keys: Keys
  ) throws {
    if !reported.insert(identity).inserted { return }
    summary.conflicts += 1
    let name = Table.classPrefix + identity.className.text
    conflicts.append(
      Conflict(
        className: identity.className.text,
        name: identity.name.text,
        reason: reason,
        properties: properties,
        base: try keys.base.flatMap { key in try texts.base?.text(name, key) },
        ours: try keys.ours.flatMap { key in try texts.ours.text(name, key) },
        theirs: try keys.theirs.flatMap { key in try texts.theirs.text(name, key) }
      )
    )
  }
}

/// The texts of the objects of one version.
private final class ObjectTexts {
  private let snapshot: Snapshot
  private let renderer: ObjectRenderer
  private let out = OutputBuffer()

  /// Keys that links show; see `ObjectRenderer.renumbered`.
  var renumbered: [ObjectReference: ObjKey] {
    get { renderer.renumbered }
    set { renderer.renumbered = newValue }
  }

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    renderer = ObjectRenderer(snapshot)
    renderer.sortsSets = true
  }

  /// Returns the text of an object on one line; nil if it does not exist.
  func text(_ tableName: String, _ key: ObjKey) throws -> String? {
    let table = try snapshot.table(named: tableName)
    guard let table else { return nil }
    out.reset()
    if try !renderer.render(table, key, layout: .compact, into: out) { return nil }
    out.truncate(to: out.count - 1)
    return out.string
  }

  /// Returns an object as a value; nil if it does not exist.
  func value(_ tableName: String, _ key: ObjKey) throws -> TextValue? {
    guard let text = try text(tableName, key) else { return nil }
    return try TextValue(Array(text.utf8))
  }
}
