// Imports records as objects, in one transaction or in batches.

public import RealmJSON
import RealmNames
public import RealmPages

/// A record that was rejected.
public struct RejectedRecord: Sendable {
  /// The path of its file.
  public let path: String
  /// Its first line; 0 if it is a separate file.
  public let line: Int
  /// The reason, with the position.
  public let reason: String
  /// The unchanged bytes of the record.
  public let bytes: [UInt8]
}

/// The result of an import.
public struct ImportSummary: Sendable {
  /// The number of created objects.
  public var created = 0
  /// The number of existing objects that were changed.
  public var changed = 0
  /// The number of records that matched the stored object.
  public var unchanged = 0
  /// The number of rejected records.
  public var rejected = 0
  /// Messages about properties detected in the files.
  public var notes: [String] = []
  /// The tables or sheets of the source, each with the class and the properties that they were mapped to.
  public var mapping: [String] = []
  /// The object of the last record; nil if there were no records.
  public var last: ObjectReference?
  /// The required properties of new objects that the records omit.
  public var defaulted: [DefaultedProperty] = []
  /// The numbers of objects by class, including those that records created or changed in place of links.
  public var classes: [ClassCount] = []

  /// The created and changed objects of a class.
  public struct ClassCount: Sendable {
    /// The name of the class.
    public let name: String
    /// The number of created objects.
    public var created = 0
    /// The number of times that an existing object was changed.
    public var changed = 0
  }
}

/// Receives the versions before and after an uncommitted change, and the objects concerned.
public typealias Preview = (Snapshot, Snapshot, [ObjectReference]) throws -> Void

extension WriteTransaction {
  /// Commits the changes; with a preview, passes them to the preview instead and rolls back.
  consuming func end(_ preview: Preview?, _ objects: [ObjectReference]) throws {
    guard hasChanges else { return rollback() }
    guard let preview else {
      _ = try commit()
      return
    }
    let after = try changed()
    try preview(former, after, objects)
    rollback()
  }
}

/// An import into a realm.
///
/// Links may refer to later objects: such links are omitted at first, and their records are read again once all objects
/// exist. If records are rejected and the import continues, the batch is restarted without them, because a rejected
/// record may have left partial changes in the transaction.
public struct Importer {
  private let writer: RealmWriter
  private let source: RecordReader
  private let defaultClass: String?

  /// The number of records per transaction; nil for all in one.
  public var batchSize: Int?
  /// True to reject a record whose object exists, instead of changing the object.
  public var createsOnly = false
  /// Receives the versions before and after the import, and the objects concerned; in that case, nothing is committed.
  /// Cannot be combined with batches.
  public var preview: Preview?
  /// True if nothing is committed; the summary is that of the commit.
  public var isDryRun = false
  /// Receives rejected records, after the other records of their batch have been committed. If it is nil, the first
  /// rejected record ends the import.
  public var onReject: ((RejectedRecord) throws -> Void)?
  /// True if objects may be created many at a time; tests set it to false.
  package var takesRows = true
  /// Receives the number of records read. Throwing ends the import.
  public var onProgress: (Int) throws -> Void = { _ in }

  /// Prepares an import. `defaultClass` is the class of records that do not contain theirs.
  public init(_ writer: RealmWriter, from source: ImportSource, defaultClass: String? = nil) {
    self.writer = writer
    self.source = RecordReader(source)
    self.defaultClass = defaultClass
  }

  private typealias Waiting = RecordApplier<Record.Position>.Waiting

  /// The result of one pass over a batch.
  private struct Pass {
    var summary = ImportSummary()
    /// The records with links whose targets are missing.
    var waiting: [Waiting] = []
    /// The required properties that records omit, with the number of new objects.
    var defaulted: [RequiredProperty: Int] = [:]
    /// The numbers of objects by class.
    var counts: [TableKey: ImportSummary.ClassCount] = [:]
    /// The created and changed objects, for a preview.
    var objects: [ObjectReference] = []
    var rejected: [(Record.Position, RejectedRecord)] = []
    var isAtEnd = false

    /// Counts the objects of a record.
    mutating func count(
      _ outcome: PatchOutcome,
      _ table: TableKey,
      _ transaction: borrowing WriteTransaction
    ) throws {
      for object in outcome.linked {
        try count(object.object.table, transaction) { $0.add(object.wasCreated, object.hasChanged) }
      }
      try count(table, transaction) { $0.add(outcome.wasCreated, outcome.hasChanged) }
    }

    mutating func count(
      _ table: TableKey,
      _ transaction: borrowing WriteTransaction,
      _ change: (inout ImportSummary.ClassCount) -> Void
    ) throws {
      if counts[table] == nil {
        let facts = try transaction.table(table)
        counts[table] = ImportSummary.ClassCount(name: facts.className ?? facts.name)
      }
      if var found = counts[table] {
        change(&found)
        counts[table] = found
      }
    }
  }

  // MARK: running

  /// Imports all records.
  ///
  /// Cost: O(log n) for each record and link; memory for the changes of one transaction, and 40 bytes for each record
  /// with missing links.
  public func run() throws -> ImportSummary {
    defer { source.stop() }
    var total = ImportSummary()
    var waiting: [Waiting] = []
    var count = 0
    try source.use(schema())
    var place = source.place
    while true {
      let pass = try runBatch(from: place, &count)
      total.add(pass.summary)
      if batchSize != nil { waiting += pass.waiting }
      if pass.isAtEnd { break }
      place = source.place
    }
    var next = 0
    while next < waiting.count {
      let part = Array(waiting[next...].prefix(batchSize ?? .max))
      total.rejected += try setLinks(part)
      next += part.count
    }
    source.stop()
    total.notes = source.notes
    total.mapping = source.tables?.mapping ?? []
    return total
  }

  private func schema() throws -> SchemaDescription {
    try SchemaDescription(writer.realm.latest())
  }

  /// Begins a transaction, with the classes that the source needs.
  private func begin() throws -> WriteTransaction {
    let transaction = try writer.beginOnThisThread()
    if let needed = source.tables {
      do {
        let change = try SchemaDescription(classes: needed.newClasses).change(in: transaction)
        if !change.isEmpty { try change.make(in: transaction) }
      } catch {
        transaction.rollback()
        throw error
      }
    }
    return transaction
  }

  private func runBatch(from place: Record.Position, _ count: inout Int) throws -> Pass {
    var rejected: [Record.Position: RejectedRecord] = [:]
    var order: [Record.Position] = []
    let first = count
    while true {
      try source.seek(to: place)
      count = first
      let transaction = try begin(), state = ImportState(createsOnly: createsOnly)
      var pass = try fill(transaction, state, leaving: rejected, &count)
      if batchSize == nil {
        for waiting in pass.waiting { try setLinks(waiting, state, transaction, &pass.rejected) }
      }
      if pass.isAtEnd { try checkHeaders(state, transaction) }
      if pass.rejected.isEmpty {
        pass.summary.defaulted = try pass.defaulted.named(in: transaction)
        pass.summary.classes = pass.counts.sorted { $0.key.value < $1.key.value }.map(\.value)
        if isDryRun { transaction.rollback() } else { try transaction.end(preview, pass.objects) }
        pass.summary.rejected = order.count
        for position in order { if let record = rejected[position] { try onReject?(record) } }
        return pass
      }
      transaction.rollback()
      for (position, record) in pass.rejected where rejected.updateValue(record, forKey: position) == nil {
        order.append(position)
      }
    }
  }

  /// Applies the records of a batch, except those already rejected.
  private func fill(
    _ transaction: borrowing WriteTransaction,
    _ state: ImportState,
    leaving rejected: [Record.Position: RejectedRecord],
    _ count: inout Int
  ) throws -> Pass {
    var pass = Pass()
    var left = batchSize ?? .max
    // If records are skipped or previewed, each is handled individually.
    let takesRows = takesRows && rejected.isEmpty && preview == nil
    source.useRows(takesRows)
    while left > 0 {
      if takesRows, let made = try state.makeRows(source, left, transaction) {
        source.skip(made.count)
        left -= made.count
        pass.summary.created += made.count
        try pass.count(made.last.table, transaction) { $0.created += made.count }
        for (property, number) in made.defaulted { pass.defaulted[property, default: 0] += number }
        pass.summary.last = made.last
        if (count + made.count) / 256 > count / 256 { try onProgress(count + made.count) }
        count += made.count
        continue
      }
      guard let record = try source.nextRecord() else {
        pass.isAtEnd = true
        break
      }
      left -= 1
      count += 1
      if count % 256 == 0 { try onProgress(count) }
      if rejected[record.position] != nil { continue }
      do {
        guard let (table, outcome) = try apply(record, state, transaction) else { continue }
        if takesRows { try state.note(outcome, record, table, source, transaction) }
        pass.summary.add(outcome, table)
        try pass.count(outcome, table, transaction)
        for property in outcome.defaulted { pass.defaulted[property, default: 0] += 1 }
        if preview != nil {
          pass.objects.append(ObjectReference(table: table, key: outcome.object))
          pass.objects += outcome.linked.map(\.object)
        }
      } catch let error as InputError {
        try reject(record, error, &pass.rejected)
      }
    }
    pass.waiting = state.applier.waiting
    return pass
  }

  /// Checks the headers of all files, including those without records.
  private func checkHeaders(
    _ state: ImportState,
    _ transaction: borrowing WriteTransaction
  ) throws {
    for (path, className, header) in source.headers {
      do {
        let table = try table(of: className, "\(path): \(header.unit) \(header.line)", isCSV: true, state, transaction)
        _ = try state.form(header, table, path, transaction)
      } catch let error as InputError {
        // If the file has records, each of them was already rejected for this reason.
        if onReject == nil { throw TransferError.unsuitable(error.problem) }
      }
    }
  }

  private func reject(
    _ record: Record,
    _ error: InputError,
    _ list: inout [(Record.Position, RejectedRecord)]
  ) throws {
    guard onReject != nil else { throw TransferError.unsuitable(error.problem) }
    let rejected = RejectedRecord(path: record.path, line: record.line, reason: error.problem, bytes: record.bytes)
    list.append((record.position, rejected))
  }

  /// Sets links whose targets now exist, in a separate transaction; returns the number of rejected records.
  private func setLinks(_ list: [Waiting]) throws -> Int {
    var skipped: Set<Record.Position> = []
    var records: [RejectedRecord] = []
    while true {
      let transaction = try begin(), state = ImportState()
      var rejected: [(Record.Position, RejectedRecord)] = []
      for waiting in list where !skipped.contains(waiting.place) {
        try setLinks(waiting, state, transaction, &rejected)
      }
      if rejected.isEmpty {
        try transaction.end(nil, [])
        for record in records { try onReject?(record) }
        return records.count
      }
      transaction.rollback()
      for (position, record) in rejected {
        skipped.insert(position)
        records.append(record)
      }
    }
  }

  private func setLinks(
    _ waiting: Waiting,
    _ state: ImportState,
    _ transaction: borrowing WriteTransaction,
    _ rejected: inout [(Record.Position, RejectedRecord)]
  ) throws {
    try source.seek(to: waiting.place)
    guard let record = try source.nextRecord() else { return }
    do {
      let table = waiting.object.table, text = try text(of: record, table, state, transaction)
      try state.finish(waiting, text, record, transaction)
    } catch let error as InputError {
      try reject(record, error, &rejected)
    }
  }

  // MARK: one record

  /// Returns the class of a record at `place`; `isCSV` if the record has no members that could contain the class.
  private func table(
    of className: String?,
    _ place: String,
    isCSV: Bool,
    _ state: ImportState,
    _ transaction: borrowing WriteTransaction
  ) throws -> TableKey {
    guard let className = className ?? defaultClass else {
      throw InputError("\(place): no class: name it with --class\(isCSV ? "" : ", or in a member \"$class\"")")
    }
    guard let table = try state.table(className, transaction) else {
      let hint = try state.classNames(transaction).hint(for: className)
      throw InputError("\(place): no class \(className); \(hint); --class is for lines without \"$class\"")
    }
    return table
  }

  /// Applies a record and returns its class and outcome; nil for an empty CSV row.
  private func apply(
    _ record: Record,
    _ state: ImportState,
    _ transaction: borrowing WriteTransaction
  ) throws -> (TableKey, PatchOutcome)? {
    let parsed = record.header == nil ? try json(record) : nil
    let table = try table(of: record.className, record.place, isCSV: record.header != nil, state, transaction)
    if let header = record.header, record.isBlankRow,
      try !state.form(header, table, record.path, transaction).takesBlanks
    {
      return nil
    }
    let text: JSONText
    if let parsed { text = parsed } else { text = try self.text(of: record, table, state, transaction) }
    let (target, alternative) = try target(of: record, text, table, state, transaction)
    do {
      return (table, try state.apply(text, to: target, of: table, record, transaction))
    } catch {
      guard let alternative, state.lastWasDuplicate, !createsOnly else { throw error }
      return (table, try state.apply(text, to: alternative, of: table, record, transaction))
    }
  }

  private func json(_ record: Record) throws -> JSONText {
    if let text = record.text { return text }
    return try record.json()
  }

  /// Returns the text of a record.
  private func text(
    of record: Record,
    _ table: TableKey,
    _ state: ImportState,
    _ transaction: borrowing WriteTransaction
  ) throws -> JSONText {
    guard let header = record.header else { return try json(record) }
    if let text = record.text { return text }
    let form = try state.form(header, table, record.path, transaction)
    source.use(form, for: record)
    return try record.text(form)
  }

  /// Returns the target of a record, and the one to use if the first already exists.
  private func target(
    of record: Record,
    _ text: JSONText,
    _ table: TableKey,
    _ state: ImportState,
    _ transaction: borrowing WriteTransaction
  ) throws -> (PatchTarget, PatchTarget?) {
    let facts = try state.facts(table, transaction)
    let wanted = createsOnly ? PatchTarget.new() : .upsert
    if let name = record.fileName {
      switch NameEscaping.parse(file: Array(name.utf8), primaryKey: facts.primaryKey?.type) {
      case nil: throw InputError("\(record.path): not the name of an object of \(facts.name)")
      case .objectKey(let key): return (.keyed(key), .object(key))
      case .hashed: return (wanted, nil)
      case .key(let key):
        let object = try transaction.objectKey(table, primaryKey: Value(key))
        return (object.map { .object($0) } ?? .named(Value(key)), nil)
      }
    }
    if facts.primaryKey != nil { return (wanted, nil) }
    do {
      guard let key = try text.integer(ofMember: Member.key) else { return (wanted, nil) }
      return (.keyed(ObjKey(key)), .object(ObjKey(key)))
    } catch { throw InputError("\(record.path): \(error)") }
  }

  /// Data that all records of a transaction share.
  private final class ImportState {
    final class Facts {
      let name: String
      let columns: [Column]
      let primaryKey: Column?
      /// The primary key types of the classes that this class links to.
      let keyTypes: [TableKey: ValueType]

      init(_ table: Table, keyTypes: [TableKey: ValueType]) {
        name = table.className ?? table.name
        columns = table.columns
        primaryKey = table.primaryKey
        self.keyTypes = keyTypes
      }
    }

    let applier: RecordApplier<Record.Position>
    private let createsOnly: Bool
    private var tables: [ExactName: TableKey] = [:]
    private var known: [TableKey: Facts] = [:]
    /// The most recent lookups; most records have the same class as the previous one.
    private var lastTable: (name: String, key: TableKey)?
    private var lastFacts: (key: TableKey, facts: Facts)?
    private var lastForm: (table: TableKey, header: CSVHeader, form: CSVForm)?
    /// True if the last record was rejected because its object exists.
    private(set) var lastWasDuplicate = false

    /// With `createsOnly`, existing objects are not changed: neither those of records nor those nested in them.
    init(createsOnly: Bool = false) {
      self.createsOnly = createsOnly
      applier = RecordApplier(ignoredMembers: [Member.class, Member.key], createsLinked: !createsOnly)
    }

    func table(_ name: String, _ transaction: borrowing WriteTransaction) throws -> TableKey? {
      if let lastTable, lastTable.name.isExactly(name) { return lastTable.key }
      if let key = tables[ExactName(name)] {
        lastTable = (name, key)
        return key
      }
      guard let key = try transaction.tableKey(like: Table.classPrefix + name) else { return nil }
      tables[ExactName(name)] = key
      return key
    }

    func classNames(_ transaction: borrowing WriteTransaction) throws -> KnownNames {
      var names: [String] = []
      for key in try transaction.tableKeys() {
        if let name = try transaction.table(key).className { names.append(name) }
      }
      return KnownNames(names)
    }

    func facts(_ key: TableKey, _ transaction: borrowing WriteTransaction) throws -> Facts {
      if let lastFacts, lastFacts.key == key { return lastFacts.facts }
      if let facts = known[key] {
        lastFacts = (key, facts)
        return facts
      }
      let table = try transaction.table(key)
      var keyTypes: [TableKey: ValueType] = [:]
      for target in table.columns.compactMap(\.targetTable) {
        keyTypes[target] = try transaction.table(target).primaryKey?.type
      }
      let facts = Facts(table, keyTypes: keyTypes)
      known[key] = facts
      return facts
    }

    /// Returns the meaning of the fields below a CSV header, for one class.
    func form(
      _ header: CSVHeader,
      _ key: TableKey,
      _ path: String,
      _ transaction: borrowing WriteTransaction
    ) throws -> CSVForm {
      if let lastForm, lastForm.table == key, lastForm.header === header { return lastForm.form }
      let facts = try facts(key, transaction)
      let form: CSVForm
      do {
        form = try CSVForm(header, of: facts.name, facts.columns, primaryKey: facts.primaryKey) { facts.keyTypes[$0] }
      } catch {
        // No record below this header can be imported.
        throw TransferError.unsuitable(error.text(path, header.line, unit: header.unit))
      }
      lastForm = (key, header, form)
      return form
    }

    // MARK: rows

    /// The files whose records are read as rows where possible.
    private var filesOfRows: Set<Int> = []
    /// True if the last record created an object: the next one most likely will as well.
    private var expectsNew = false
    /// The number of consecutive records whose objects existed.
    private var foundInRow = 0
    private static let maxFoundInRow = 64

    /// Creates the objects of the next records that are rows, at most `limit`; returns nil if the next record must be
    /// imported individually.
    func makeRows(
      _ source: RecordReader,
      _ limit: Int,
      _ transaction: borrowing WriteTransaction
    ) throws -> (count: Int, last: ObjectReference, defaulted: [RequiredProperty: Int])? {
      guard expectsNew, let (rows, range) = try source.nextRows() else { return nil }
      let wanted = range.prefix(limit)
      let (count, last) = try transaction.create(rows, wanted)
      // If creation stopped early, the next object already exists or has a link without a target.
      expectsNew = count == wanted.count
      guard let last else { return nil }
      let table = rows.form.table
      let defaulted = rows.defaulted(in: wanted.prefix(count)).map { (RequiredProperty(table, $0), $1) }
      return (count, ObjectReference(table: table, key: last), Dictionary(uniqueKeysWithValues: defaulted))
    }

    /// Adjusts how later records are read after a record was imported individually.
    func note(
      _ outcome: PatchOutcome,
      _ record: Record,
      _ table: TableKey,
      _ source: RecordReader,
      _ transaction: borrowing WriteTransaction
    ) throws {
      expectsNew = outcome.wasCreated
      if outcome.wasCreated {
        if foundInRow >= Self.maxFoundInRow { source.useRows(true) }
        foundInRow = 0
      } else {
        foundInRow += 1
        if foundInRow == Self.maxFoundInRow { source.useRows(false) }
      }
      if record.fileName != nil || record.namesClass { return }
      if !filesOfRows.insert(record.position.file).inserted { return }
      guard let form = try transaction.rowForm(table), let rows = RowSource(record, form) else { return }
      source.use(rows, for: record)
    }

    /// Applies a record.
    func apply(
      _ text: JSONText,
      to target: PatchTarget,
      of table: TableKey,
      _ record: Record,
      _ transaction: borrowing WriteTransaction
    ) throws -> PatchOutcome {
      lastWasDuplicate = false
      do {
        return try applier.apply(text, at: record.position, to: target, of: table, in: transaction)
      } catch {
        if case .duplicate = error.kind { lastWasDuplicate = true }
        throw try failure(error, record, table, transaction)
      }
    }

    /// Sets the links of a record whose targets exist now.
    func finish(
      _ waiting: Waiting,
      _ text: JSONText,
      _ record: Record,
      _ transaction: borrowing WriteTransaction
    ) throws {
      do { _ = try applier.finish(waiting, text, in: transaction) } catch {
        throw try failure(error, record, waiting.object.table, transaction)
      }
    }

    private func failure(
      _ error: InputError,
      _ record: Record,
      _ table: TableKey,
      _ transaction: borrowing WriteTransaction
    ) throws -> any Error {
      switch error.kind {
      case .duplicate where createsOnly: return InputError("\(record.place): \(InputError.exists)")
      case .engine(let cause): return cause
      default: break
      }
      guard let header = record.header else { return InputError(record.reason(error)) }
      return InputError(record.reason(error, try form(header, table, record.path, transaction)))
    }
  }
}

extension ImportSummary.ClassCount {
  fileprivate mutating func add(_ wasCreated: Bool, _ hasChanged: Bool) {
    if wasCreated { created += 1 } else if hasChanged { changed += 1 }
  }
}

extension ImportSummary {
  fileprivate mutating func add(_ outcome: PatchOutcome, _ table: TableKey) {
    last = ObjectReference(table: table, key: outcome.object)
    if outcome.wasCreated { created += 1 } else if outcome.hasChanged { changed += 1 } else { unchanged += 1 }
    for object in outcome.linked {
      if object.wasCreated { created += 1 } else if object.hasChanged { changed += 1 }
    }
  }

  fileprivate mutating func add(_ other: ImportSummary) {
    created += other.created
    changed += other.changed
    unchanged += other.unchanged
    rejected += other.rejected
    last = other.last ?? last
    for count in other.classes {
      if let index = classes.firstIndex(where: { $0.name.isExactly(count.name) }) {
        classes[index].created += count.created
        classes[index].changed += count.changed
      } else {
        classes.append(count)
      }
    }
    for property in other.defaulted {
      if let index = defaulted.firstIndex(where: { $0.name.isExactly(property.name) }) {
        defaulted[index].objects += property.objects
      } else {
        defaulted.append(property)
      }
    }
  }
}
