// Rows that are to be made, column by column. Those at the end of a table wait until there are enough of them, or until
// the first read: what a leaf must be asked is then asked once for all of them.

/// New objects: their keys, and what they have in each column of single values.
struct NewRows {
  private(set) var keys: [UInt64] = []
  private let layout: RowLayout
  // These are made with the first row, for most transactions make none.
  private var columns: [NewColumn] = []
  /// By leaf position: the place in `columns`, or -1.
  private var places: [Int] = []

  /// No rows of a table with these columns.
  init(_ layout: RowLayout) { self.layout = layout }

  private mutating func makeColumns() {
    places = Array(repeating: -1, count: layout.slotCount)
    for column in layout.columns {
      guard case .scalar(let element, _) = column.kind else { continue }
      places[column.position] = columns.count
      columns.append(NewColumn(element))
    }
  }

  /// Rows of a batch, of which those before `first` are not wanted. None is there before its key is appended.
  init(_ layout: RowLayout, _ batch: [(position: Int, column: NewColumn)], first: Int) {
    self.init(layout)
    places = Array(repeating: -1, count: layout.slotCount)
    for (position, column) in batch {
      places[position] = columns.count
      columns.append(column)
    }
    keys = Array(repeating: 0, count: first)
    keys.reserveCapacity(batch.first?.column.count ?? first)
    start = first
    isBatch = true
  }

  var count: Int { keys.count }

  /// The first row that is not written.
  private(set) var start = 0
  private var isBatch = false

  /// The key of the first row that is not written; nil without any.
  var firstKey: UInt64? { start < keys.count ? keys[start] : nil }

  /// Adds the next row of a batch, whose other values are there.
  mutating func append(_ key: ObjKey, links: [(position: Int, target: ObjKey?)]) {
    for (position, target) in links { columns[places[position]].append(link: target) }
    keys.append(UInt64(bitPattern: key.value))
  }

  /// Notes that all rows are written.
  mutating func noteWritten() { if isBatch { start = keys.count } else { removeAll() } }

  /// The bytes of all strings and binaries.
  private(set) var byteCount = 0

  /// Adds a row. A property that is not given takes its default; of two values for one the first counts.
  mutating func append(
    _ key: ObjKey,
    primaryKey: (column: ColKey, value: Value)? = nil,
    _ values: [(ColKey, Value)] = []
  ) {
    if places.isEmpty { makeColumns() }
    let row = keys.count
    keys.append(UInt64(bitPattern: key.value))
    if let primaryKey { append(primaryKey.value, primaryKey.column, row) }
    for (column, value) in values { append(value, column, row) }
    for i in columns.indices where columns[i].count == row { columns[i].appendDefault() }
  }

  private mutating func append(_ value: Value, _ column: ColKey, _ row: Int) {
    // Collections have no place.
    let place = places[column.leafPosition]
    if place >= 0, columns[place].count == row { byteCount += columns[place].append(value) }
  }

  /// Forgets the rows.
  mutating func removeAll() {
    keys.removeAll(keepingCapacity: true)
    for i in columns.indices { columns[i].removeAll() }
    byteCount = 0
  }

  /// The values in the column at leaf position `position`, one of single values.
  func column(_ position: Int) -> NewColumn { columns[places[position]] }

  /// Calls `body` with the value of one row in such a column.
  func withView<R>(
    _ row: Int,
    _ position: Int,
    _ body: (ValueView) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    try columns[places[position]].withView(row, body)
  }
}

/// One column of new rows, each value in the form that its leaf wants.
struct NewColumn {
  let element: ElementType
  private(set) var isNull: [Bool] = []
  /// Integers, booleans, links and the bits of floating-point numbers as leaves of clusters store them; the seconds of
  /// dates.
  private(set) var numbers: [Int64] = []
  /// Of dates.
  private(set) var nanoseconds: [Int64] = []
  /// Strings, a zero byte after each, or binaries, and where each ends.
  private(set) var bytes: [UInt8] = []
  private(set) var ends: [Int64] = []
  /// Of the other types.
  private var values: [Value] = []

  private let defaultValue: Value
  private let keepsValues: Bool

  /// No values of an element's type.
  init(_ element: ElementType) {
    self.element = element
    defaultValue = element.defaultValue
    keepsValues = [.decimal128, .objectID, .uuid, .mixed].contains(element.type)
  }

  var count: Int { isNull.count }

  /// The bytes after each value that do not belong to it.
  var zeros: Int { element.type == .string ? 1 : 0 }

  /// Adds a value of the element's type, and returns how many bytes it has if it is a string or binary.
  @inline(__always)
  mutating func append(_ value: Value) -> Int {
    if keepsValues {
      values.append(value)
      isNull.append(false)
      return 0
    }
    switch value {
    case .int(let number): append(number)
    case .bool(let isTrue): append(isTrue ? 1 : 0)
    case .float(let number): append(Int64(number.bitPattern))
    case .double(let number): append(Int64(bitPattern: number.bitPattern))
    case .link(_, let key): append(key.value + 1)
    case .date(let date):
      append(date.seconds)
      nanoseconds.append(Int64(date.nanoseconds))
    case .string(let text), .data(let text):
      append(text)
      return text.count
    default: appendNull()
    }
    return 0
  }

  /// Adds the text of a string, or a binary.
  mutating func append(text: ArraySlice<UInt8>) {
    bytes.append(contentsOf: text)
    if zeros > 0 { bytes.append(0) }
    ends.append(Int64(bytes.count))
    isNull.append(false)
  }

  /// Adds a number, or the bits that stand for one: not for dates.
  mutating func append(bits: Int64) { append(bits) }

  /// Adds a link.
  mutating func append(link: ObjKey?) { if let link { append(link.value + 1) } else { appendNull() } }

  /// Forgets the values from `row` on.
  mutating func truncate(to row: Int) {
    if isNull.count <= row { return }
    if element.type == .string || element.type == .data {
      bytes.removeLast(bytes.count - start(row))
      ends.removeLast(ends.count - row)
    } else if keepsValues {
      values.removeLast(values.count - row)
    } else {
      numbers.removeLast(numbers.count - row)
      if element.type == .date { nanoseconds.removeLast(nanoseconds.count - row) }
    }
    isNull.removeLast(isNull.count - row)
  }

  /// Has room for so many values.
  mutating func reserve(_ count: Int) {
    isNull.reserveCapacity(count)
    if element.type == .string || element.type == .data {
      ends.reserveCapacity(count)
    } else if keepsValues {
      values.reserveCapacity(count)
    } else {
      numbers.reserveCapacity(count)
      if element.type == .date { nanoseconds.reserveCapacity(count) }
    }
  }

  /// Adds what an object has for which no value was given.
  mutating func appendDefault() { _ = append(defaultValue) }

  @inline(__always)
  private mutating func append(_ number: Int64) {
    numbers.append(number)
    isNull.append(false)
  }

  private mutating func append(_ text: [UInt8]) {
    bytes.append(contentsOf: text)
    if zeros > 0 { bytes.append(0) }
    ends.append(Int64(bytes.count))
    isNull.append(false)
  }

  private mutating func appendNull() {
    switch element.type {
    case .int: append(0)
    case .bool: append(NodeEditor.bool(.null))
    case .link: append(NodeEditor.link(.null, inTree: false))
    case .float: append(Int64(NodeEditor.float(.null)))
    case .double: append(Int64(bitPattern: NodeEditor.double(.null)))
    case .date:
      append(0)
      nanoseconds.append(0)
    case .string, .data: append([])
    case .decimal128, .objectID, .uuid, .mixed: return
    }
    isNull[isNull.count - 1] = true
  }

  /// Forgets the values. Large buffers are given back.
  mutating func removeAll() {
    isNull.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
    nanoseconds.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: bytes.count <= Self.maximumKept)
    ends.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
  }

  private static let maximumKept = 1 << 16

  /// Where in `bytes` the string or binary of `row` begins; for the row after the last, where all of them end.
  func start(_ row: Int) -> Int { row == 0 ? 0 : Int(ends[row - 1]) }

  /// The place in `bytes` of the string or binary of `row`.
  func range(_ row: Int) -> Range<Int> { start(row)..<start(row + 1) - zeros }

  /// Calls `body` with the value of a row; a list or dictionary shows as an empty one.
  func withView<R>(_ row: Int, _ body: (ValueView) throws(EngineError) -> R) throws(EngineError) -> R {
    if isNull[row] { return try body(.null) }
    switch element.type {
    case .int: return try body(.int(numbers[row]))
    case .bool: return try body(.bool(numbers[row] != 0))
    case .float: return try body(.float(Float(bitPattern: UInt32(truncatingIfNeeded: numbers[row]))))
    case .double: return try body(.double(Double(bitPattern: UInt64(bitPattern: numbers[row]))))
    case .link: return try body(.link(element.target, ObjKey(numbers[row] - 1)))
    case .date:
      return try body(.date(Timestamp(seconds: numbers[row], nanoseconds: Int32(nanoseconds[row]))))
    case .string, .data:
      let range = range(row)
      return try bytes.withView { (all) throws(EngineError) in
        let view = all.extracting(range)
        return try body(element.type == .string ? .string(view) : .data(view))
      }
    case .decimal128, .objectID, .uuid, .mixed: return try values[row].withView(body)
    }
  }
}
