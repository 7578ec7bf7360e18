// The objects of a class as rows, for `cat` and `query`: their columns, and the aggregates over all of them.
//
// Objects are read in batches, each from a version that is still the newest when the batch is printed. Without a query,
// a cursor finds them, so memory does not grow with their number.
import Glibc
import RealmJSON
import RealmPages
import RealmQuery
import RealmTransfer

/// Prints the objects of a class.
struct ObjectRows {
  private let source: RealmSource
  private let arguments: Arguments
  private let className: String
  /// The query that selects the objects; nil for all.
  private let query: QueryCondition?
  private let style: JSONStyle
  private let format: RowFormat
  private let output = StandardOutput()

  /// Prepares to print a class.
  init(
    _ source: RealmSource,
    _ arguments: Arguments,
    className: String,
    query: QueryCondition?
  ) throws {
    (self.source, self.arguments, self.className, self.query) = (source, arguments, className, query)
    style = try arguments.jsonStyle()
    let chosen = arguments.value(.format).flatMap { RowFormat(rawValue: $0) }
    format = chosen ?? (isatty(STDOUT_FILENO) == 0 ? .jsonl : .table)
    if arguments.has(.columns), arguments.asksForAggregates {
      throw arguments.usage("--columns cannot be used with \(arguments.aggregateOption)")
    }
  }

  /// Prints all rows or aggregates.
  func run() throws -> ExitCode {
    var printer: RowPrinter?
    var last = ObjKey.none, problems = Complaints()
    defer { problems.report(source.path) }
    for _ in 0..<RealmSource.attempts {
      let snapshot = try source.latest()
      let begun = Result { try ClassView(self, snapshot, after: last) }
      // Data read from an overwritten version is undefined, and so are errors.
      guard source.realm.isCurrent(snapshot) else { continue }
      let view = try begun.get()
      if arguments.asksForAggregates {
        if let code = try printAggregates(view, snapshot) { return code }
        continue
      }
      let rows = printer ?? RowPrinter(format, view.columns.map { ($0.name, $0.isNumber) }, output)
      printer = rows
      while true {
        var complaints: [String] = []
        let isEnd = Self.fill(rows, view, &complaints)
        guard source.realm.isCurrent(snapshot) else {
          rows.drop()
          if view.isList, rows.hasKept { throw source.tooBusy }
          break
        }
        for complaint in complaints { problems.add(complaint) }
        try rows.keep()
        last = view.last
        if isEnd {
          try rows.finish()
          return problems.isEmpty ? .done : .damaged
        }
      }
    }
    throw source.tooBusy
  }

  /// Adds rows until a batch is full; true if there are no more objects.
  private static func fill(_ rows: RowPrinter, _ view: ClassView, _ complaints: inout [String]) -> Bool {
    while !rows.isBatchFull {
      if rows.takesAnyOrder, let block = view.nextBlock() {
        if fill(rows, view, block, &complaints) { continue }
        view.takeOneByOne(block)
      }
      guard view.next(&complaints) else { return true }
      do { try add(rows, view) } catch { complaints.append(error.description) }
    }
    return false
  }

  private static func add(_ rows: RowPrinter, _ view: ClassView) throws(RenderError) {
    if view.showsObjects {
      try rows.add { (buffer) throws(RenderError) in
        try view.renderer.render(view.cursor, layout: .compact, into: buffer)
      }
    } else {
      rows.add(try view.cells(asTexts: rows.format.wantsTexts))
    }
  }

  /// Adds a block of objects that a query has put in order. They are read in the order of their keys, which is faster
  /// because neighbours share nodes. Returns false and adds nothing if their rows are too long.
  private static func fill(
    _ rows: RowPrinter,
    _ view: ClassView,
    _ block: Range<Int>,
    _ complaints: inout [String]
  ) -> Bool {
    var places = Array(repeating: 0..<0, count: block.count), problems: [(Int, String)] = []
    let start = rows.place
    for index in view.inOrderOfKeys(block) {
      let place = rows.place
      if place - start > maxBytesInBlock {
        rows.drop(from: start, count: places.count { !$0.isEmpty })
        return false
      }
      var found: [String] = []
      if view.go(to: index, &found) {
        do {
          try add(rows, view)
          places[index - block.lowerBound] = place..<rows.place
        } catch { found.append(error.description) }
      }
      for problem in found { problems.append((index, problem)) }
    }
    rows.reorder(from: start, places)
    problems.sort { $0.0 < $1.0 }
    complaints += problems.map(\.1)
    return true
  }

  /// The size limit for the rows of a block.
  private static let maxBytesInBlock = 1 << 23

  // MARK: aggregates

  /// Prints the aggregates; nil if the version was overwritten.
  private func printAggregates(_ view: ClassView, _ snapshot: Snapshot) throws -> ExitCode? {
    var complaints: [String] = []
    let outcome = Result {
      var groups = try RowGroups(arguments, view, format: format)
      while view.next(&complaints) {
        do { try groups.add(view) } catch { complaints.append("\(error)") }
      }
      return try groups.rows(view)
    }
    guard source.realm.isCurrent(snapshot) else { return nil }
    let (columns, rows) = try outcome.get()
    var problems = Complaints()
    for complaint in complaints { problems.add(complaint) }
    problems.report(source.path)
    let code: ExitCode = complaints.isEmpty ? .done : .damaged
    // A single value is printed without a column name.
    if columns.count == 1, rows.count == 1, !arguments.has(.format) {
      switch rows[0][0] {
      case .null: output.print("null")
      case .text(let bytes), .json(let bytes): output.print(String(decoding: bytes, as: UTF8.self))
      }
      output.print("\n")
      try output.flush()
      return code
    }
    let printer = RowPrinter(format, columns, output)
    for row in rows {
      printer.add(row)
      if printer.isBatchFull { try printer.keep() }
    }
    try printer.finish()
    return code
  }

  // MARK: one version

  /// A column of the rows.
  struct ColumnView {
    enum Kind {
      case objectKey
      case property(Int)
      case path(QueryPath)
    }

    let name: String
    let kind: Kind
    let type: ValueType?
    let isCollection: Bool

    var isNumber: Bool {
      if isCollection { return false }
      if case .objectKey = kind { return true }
      switch type {
      case .int, .float, .double, .decimal128: return true
      default: return false
      }
    }
  }

  /// The class in one version, and the objects still to be printed.
  final class ClassView {
    let table: Table
    let renderer: ObjectRenderer
    let columns: [ColumnView]
    /// True if rows are complete objects.
    let showsObjects: Bool
    private let snapshot: Snapshot
    private let keys: [ObjKey]?
    private var nextKey = 0
    /// Keys before this index are read one by one.
    private var firstInBlocks = 0
    private static let blockSize = 1 << 15
    private static let minBlock = 1 << 10
    private let reader: RescuingCursor
    private let keyCursor: ObjectCursor
    private let scratch = OutputBuffer()
    private let isTable: Bool

    init(_ rows: ObjectRows, _ snapshot: Snapshot, after last: ObjKey) throws {
      let path = rows.source.path
      self.snapshot = snapshot
      isTable = rows.format == .table
      table = try snapshot.table(ofClass: rows.className, in: path)
      if table.kind == .embedded, rows.arguments.command == .cat {
        throw CommandFailure(
          .unreadable,
          "\(path): \(rows.className) is an embedded class; its objects are printed inside their parents"
        )
      }
      if let condition = rows.query {
        let query: ObjectQuery, text = condition.text ?? ""
        do { query = try ObjectQuery([condition], of: table, in: snapshot) } catch {
          throw CommandFailure(error, in: text)
        }
        do { keys = try query.keys() } catch { throw CommandFailure(error, of: text, in: path) }
      } else {
        keys = nil
      }
      let table = self.table, effort = Effort(snapshot)
      reader = RescuingCursor(table, after: last, effort)
      keyCursor = ObjectCursor(table)
      let chosen = rows.arguments.allValues(.columns).flatMap { $0.split(unescaped: ",") }
      showsObjects = chosen.isEmpty && !rows.format.wantsTexts
      // Complete objects are read only once. Columns can read the same values for many objects.
      renderer =
        showsObjects
        ? ObjectRenderer(snapshot, style: rows.style, sweep: effort) : ObjectRenderer(snapshot, style: rows.style)
      renderer.chargesTexts = showsObjects
      columns =
        chosen.isEmpty
        ? Self.all(table)
        : try chosen.map { name in
          try Self.column(name, table, snapshot, "--columns")
        }
      if let twice = chosen.first(where: { name in chosen.count { $0.isExactly(name) } > 1 }) {
        throw rows.arguments.usage("--columns: \(twice) is given twice")
      }
    }

    private static func all(_ table: Table) -> [ColumnView] {
      let key = ColumnView(name: "$key", kind: .objectKey, type: .int, isCollection: false)
      let columns = table.columns.enumerated().map { index, column in
        ColumnView(
          name: column.name,
          kind: .property(index),
          type: column.type,
          isCollection: column.collection != nil
        )
      }
      return table.primaryKey == nil ? [key] + columns : columns
    }

    /// Returns the column that `option` names.
    static func column(
      _ name: String,
      _ table: Table,
      _ snapshot: Snapshot,
      _ option: String
    ) throws -> ColumnView {
      if name == "$key" { return ColumnView(name: name, kind: .objectKey, type: .int, isCollection: false) }
      do {
        let path = try QueryPath(name, of: table, in: snapshot)
        guard let index = path.property else {
          return ColumnView(name: name, kind: .path(path), type: path.type, isCollection: false)
        }
        let isCollection = table.columns[index].collection != nil
        return ColumnView(name: name, kind: .property(index), type: path.type, isCollection: isCollection)
      } catch { throw CommandFailure(.usage, "\(option) \(name): \(error.problem)") }
    }

    func column(_ name: String, _ option: String) throws -> ColumnView {
      try Self.column(name, table, snapshot, option)
    }

    /// True if the objects were found beforehand, so that printing cannot continue in another version.
    var isList: Bool { keys != nil }

    /// The object reached last.
    var last: ObjKey { reader.last }

    /// The cursor, positioned on the current object.
    var cursor: ObjectCursor { isList ? keyCursor : reader.cursor }

    /// Moves to the next object.
    func next(_ complaints: inout [String]) -> Bool {
      guard let keys else { return reader.next(&complaints) }
      while nextKey < keys.count {
        nextKey += 1
        do {
          if try keyCursor.seek(keys[nextKey - 1]) { return true }
        } catch { complaints.append("object \(keys[nextKey - 1]): \(error)") }
      }
      return false
    }

    /// Returns the next block of a list and skips it; nil if its objects are to be read one by one.
    func nextBlock() -> Range<Int>? {
      guard let keys, nextKey >= firstInBlocks else { return nil }
      let block = nextKey..<min(nextKey + Self.blockSize, keys.count)
      if block.count < Self.minBlock { return nil }
      if zip(keys[block], keys[block].dropFirst()).allSatisfy({ $0.value < $1.value }) {
        firstInBlocks = block.upperBound
        return nil
      }
      nextKey = block.upperBound
      return block
    }

    /// Moves back to a block, so that `next` returns its objects.
    func takeOneByOne(_ block: Range<Int>) {
      nextKey = block.lowerBound
      firstInBlocks = block.upperBound
    }

    /// Returns the positions of a block in key order.
    func inOrderOfKeys(_ block: Range<Int>) -> [Int] {
      guard let keys else { return [] }
      return block.map { (key: keys[$0].value, place: $0) }.sorted { $0.key < $1.key }.map(\.place)
    }

    /// Moves to the object at a position of the list.
    func go(to place: Int, _ complaints: inout [String]) -> Bool {
      guard let keys else { return false }
      do { return try keyCursor.seek(keys[place]) } catch {
        complaints.append("object \(keys[place]): \(error)")
        return false
      }
    }

    func cells(asTexts: Bool) throws(RenderError) -> [RowCell] {
      var cells: [RowCell] = []
      cells.reserveCapacity(columns.count)
      for column in columns { cells.append(try cell(column, asText: asTexts)) }
      return cells
    }

    /// Returns the value of a column for the current object.
    func cell(_ column: ColumnView, asText: Bool) throws(RenderError) -> RowCell {
      switch column.kind {
      case .objectKey: return .json(Array(String(cursor.key.value).utf8))
      case .property(let index):
        if asText, !column.isCollection, column.type != .mixed {
          let value: ValueView, shown: ValueView
          do {
            value = try renderer.read(index, of: cursor)
            shown = try renderer.shown(value)
          } catch { throw renderer.error(error.reason, reading: column.name, of: cursor) }
          if let cell = plain(shown, isLink: column.type == .link) { return cell }
        }
        scratch.reset()
        try renderer.render(property: index, of: cursor, into: scratch)
        return finished()
      case .path(let path):
        let value: PathValue
        do { value = try path.value(cursor) } catch {
          throw renderer.error(error.reason, reading: column.name, of: cursor)
        }
        switch value {
        case .one(let value): return try cell(value, isMixed: column.type == .mixed, asText: asText)
        case .many(let values):
          scratch.reset()
          scratch.append("[")
          for (index, value) in values.enumerated() {
            if index > 0 { scratch.append(",") }
            try renderer.render(value, isMixed: column.type == .mixed, into: scratch)
          }
          scratch.append("]")
          return finished()
        }
      }
    }

    func cell(_ value: ValueView, isMixed: Bool, asText: Bool) throws(RenderError) -> RowCell {
      if asText, !isMixed {
        let isLink = if case .link = value { true } else { false }
        if let cell = plain(try renderer.shown(value), isLink: isLink) { return cell }
      }
      scratch.reset()
      try renderer.render(value, isMixed: isMixed, into: scratch)
      return finished()
    }

    /// Returns a typed value as plain text; nil if it has none. Strings and the keys of links become `text` cells,
    /// which may need quotes.
    private func plain(_ value: ValueView, isLink: Bool) -> RowCell? {
      switch value {
      case .null: return .null
      case .string(let text):
        // In CSV and similar files, a key that resembles Extended JSON must remain distinguishable from it.
        if isLink, !isTable, unsafe OutputBuffer.isExtendedJSON(text.unsafeBytes.bytes) {
          scratch.reset()
          unsafe scratch.append(invalidString: text.unsafeBytes.bytes)
          return .json(scratch.bytes)
        }
        return .text(text.bytes)
      default:
        scratch.reset()
        return scratch.append(plain: value) ? .json(scratch.bytes) : nil
      }
    }

    /// Returns the JSON rendered last.
    private func finished() -> RowCell {
      scratch.equals(Array("null".utf8)) ? .null : .json(scratch.bytes)
    }
  }
}

/// Aggregates over objects, in total or by group. Memory grows with the number of groups.
private struct RowGroups {
  private let keys: [ObjectRows.ColumnView]
  private let counts: Bool
  private let names: [String]
  private let blank: [QueryAggregate]
  /// True if rows show plain text rather than JSON.
  private let asTexts: Bool
  private struct Group {
    /// The cells that are printed.
    var key: [RowCell] = []
    /// The plain text by which groups are sorted.
    var order: [RowCell] = []
    var count = 0
    var values: [QueryAggregate]
  }
  /// The groups, by the JSON of their keys.
  private var groups: [[UInt8]: Group] = [:]

  init(_ arguments: Arguments, _ view: ObjectRows.ClassView, format: RowFormat) throws {
    var names: [String] = [], blank: [QueryAggregate] = [], keys: [ObjectRows.ColumnView] = []
    for name in arguments.allValues(.groupBy).flatMap({ $0.split(unescaped: ",") }) {
      keys.append(try view.column(name, "--group-by"))
    }
    for (option, kind) in Arguments.aggregates {
      for name in arguments.allValues(option).flatMap({ $0.split(unescaped: ",") }) {
        let column = try view.column(name, "--\(kind.rawValue)")
        do {
          blank.append(try QueryAggregate(kind, of: QueryPath(column.name, of: view.table, in: view.renderer.snapshot)))
        } catch { throw CommandFailure(.usage, "--\(kind.rawValue) \(name): \(error.problem)") }
        names.append("\(kind.rawValue)(\(name))")
      }
    }
    self.keys = keys
    counts = arguments.has(.count) || names.isEmpty
    self.names = names
    self.blank = blank
    let isOneValue = keys.isEmpty && names.count + (counts ? 1 : 0) == 1
    asTexts = format.wantsTexts || isOneValue && !arguments.has(.format)
    if keys.isEmpty { groups[[]] = Group(values: blank.map { $0.another() }) }
  }

  mutating func add(_ view: ObjectRows.ClassView) throws(RenderError) {
    var cells: [RowCell] = [], name: [UInt8] = []
    for key in keys {
      let cell = try view.cell(key, asText: false)
      if case .json(let bytes) = cell { name += bytes }
      name.append(0x0A)
      cells.append(cell)
    }
    if groups[name] == nil {
      var group = Group(values: blank.map { $0.another() })
      for key in keys { group.order.append(try view.cell(key, asText: true)) }
      group.key = asTexts ? group.order : cells
      groups[name] = group
    }
    groups[name]?.count += 1
    for value in groups[name]?.values ?? [] {
      do { try value.add(view.cursor) } catch {
        throw view.renderer.error(error.reason, reading: "an aggregate", of: view.cursor)
      }
    }
  }

  /// Returns the columns, and the rows in the order of the groups.
  func rows(
    _ view: ObjectRows.ClassView
  ) throws -> ([(name: String, isNumber: Bool)], [[RowCell]]) {
    var columns = keys.map { ($0.name, $0.isNumber) }
    if counts { columns.append(("count", true)) }
    columns += names.map { ($0, true) }
    var rows: [[RowCell]] = []
    let ordered = groups.values.sorted { a, b in
      for (x, y) in zip(a.order, b.order) {
        if let isBefore = x.comes(before: y) { return isBefore }
      }
      return false
    }
    for group in ordered {
      var row = group.key
      if counts { row.append(.json(Array(String(group.count).utf8))) }
      for (name, value) in zip(names, group.values) {
        guard let result = value.result else {
          throw CommandFailure(.failure, "\(name): the sum does not fit 64 bits")
        }
        do { row.append(try view.cell(result, isMixed: false, asText: asTexts)) } catch {
          throw CommandFailure(.damaged, error.description)
        }
      }
      rows.append(row)
    }
    return (columns, rows)
  }
}

extension QueryFailure {
  /// The reason to report for one object.
  fileprivate var reason: RenderError.Reason {
    switch self {
    case .damaged(let error): .damaged(error)
    case .refused(let error): .tooMany(error.problem)
    case .timedOut: .tooMany("the path took too long")
    }
  }
}

extension RowCell {
  /// True if this cell is ordered before `other`: null first, numbers by value, others by text; nil if they are equal.
  fileprivate func comes(before other: RowCell) -> Bool? {
    switch (self, other) {
    case (.null, .null): return nil
    case (.null, _): return true
    case (_, .null): return false
    case (.json(let a), .json(let b)):
      if a == b { return nil }
      let (first, second) = (String(decoding: a, as: UTF8.self), String(decoding: b, as: UTF8.self))
      if let x = Int64(first), let y = Int64(second) { return x < y }
      if let x = Double(first), let y = Double(second), x != y { return x < y }
      return a.lexicographicallyPrecedes(b)
    case (.text(let a), .text(let b)), (.json(let a), .text(let b)), (.text(let a), .json(let b)):
      return a == b ? nil : a.lexicographicallyPrecedes(b)
    }
  }
}

extension Arguments {
  /// The options that request an aggregate of a property.
  fileprivate static let aggregates: [(OptionName, QueryAggregate.Kind)] = [
    (.sum, .sum), (.average, .avg), (.least, .min), (.greatest, .max),
  ]

  private var aggregateOptions: [OptionName] { [.count, .groupBy] + Self.aggregates.map(\.0) }

  /// True if the arguments ask for aggregates instead of objects.
  fileprivate var asksForAggregates: Bool { aggregateOptions.contains { has($0) } }

  fileprivate var aggregateOption: String { "--" + (aggregateOptions.first { has($0) }?.rawValue ?? "") }
}
