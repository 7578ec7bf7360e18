// New rows, column by column. Rows at the end of a table are buffered until there are enough, or until the first read,
// so that the per-leaf checks are done once for all of them.

/// New objects: their keys and their values in each single-value column.
struct NewRows {
  private(set) var keys: [UInt64] = []
  private let layout: RowLayout
  // Created with the first row, as most transactions create none.
  private var columns: [NewColumn] = []
  /// For each leaf position, the position in `columns`, or -1.
  private var places: [Int] = []

  /// An empty set of rows for a table with this layout.
  init(_ layout: RowLayout) { self.layout = layout }

  private mutating func makeColumns() {
    places = Array(repeating: -1, count: layout.slotCount)
    for column in layout.columns {
      guard case .scalar(let element, _) = column.kind else { continue }
      places[column.position] = columns.count
      columns.append(NewColumn(element))
    }
  }

  /// The rows of a batch, without those before `first`. A row exists once its key is appended.
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

  /// The first unwritten row.
  private(set) var start = 0
  private var isBatch = false

  /// The key of the first unwritten row; nil if all are written.
  var firstKey: UInt64? { start < keys.count ? keys[start] : nil }

  /// Adds the next row of a batch, whose values other than links are already present.
  mutating func append(_ key: ObjKey, links: [(position: Int, target: ObjKey?)]) {
    for (position, target) in links { columns[places[position]].append(link: target) }
    keys.append(UInt64(bitPattern: key.value))
  }

  /// Marks all rows as written.
  mutating func noteWritten() { if isBatch { start = keys.count } else { removeAll() } }

  /// The total size of all strings and binaries.
  private(set) var byteCount = 0

  /// Adds a row. A property without a value gets its default; if it has two values, the first is used.
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
    // Collections have no column here.
    let place = places[column.leafPosition]
    if place >= 0, columns[place].count == row { byteCount += columns[place].append(value) }
  }

  /// Removes all rows.
  mutating func removeAll() {
    keys.removeAll(keepingCapacity: true)
    for i in columns.indices { columns[i].removeAll() }
    byteCount = 0
  }

  /// Returns the values in the single-value column at leaf position `position`.
  func column(_ position: Int) -> NewColumn { columns[places[position]] }

  /// Calls `body` with the value of a row in the single-value column at leaf position `position`.
  func withView<R>(
    _ row: Int,
    _ position: Int,
    _ body: (ValueView) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    try columns[places[position]].withView(row, body)
  }
}

/// One column of new rows, each value in its leaf's form.
struct NewColumn {
  let element: ElementType
  private(set) var isNull: [Bool] = []
  /// Integers, booleans, links and bit patterns of floating-point numbers, as stored in cluster leaves; for dates, the
  /// seconds.
  private(set) var numbers: [Int64] = []
  /// For dates.
  private(set) var nanoseconds: [Int64] = []
  /// Strings (each followed by a zero byte) or binaries, and the position where each ends.
  private(set) var bytes: [UInt8] = []
  private(set) var ends: [Int64] = []
  /// Values of all other types.
  private var values: [Value] = []

  private let defaultValue: Value
  private let keepsValues: Bool

  /// An empty column of an element type.
  init(_ element: ElementType) {
    self.element = element
    defaultValue = element.defaultValue
    keepsValues = [.decimal128, .objectID, .uuid, .mixed].contains(element.type)
  }

  var count: Int { isNull.count }

  /// The number of padding bytes after each value.
  var zeros: Int { element.type == .string ? 1 : 0 }

  /// Adds a value of the element's type. Returns its size in bytes for a string or binary, else 0.
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

  /// Adds the bytes of a string or binary.
  mutating func append(text: ArraySlice<UInt8>) {
    bytes.append(contentsOf: text)
    if zeros > 0 { bytes.append(0) }
    ends.append(Int64(bytes.count))
    isNull.append(false)
  }

  /// Adds an integer or the bit pattern of a floating-point number. Not for dates.
  mutating func append(bits: Int64) { append(bits) }

  /// Adds a link.
  mutating func append(link: ObjKey?) { if let link { append(link.value + 1) } else { appendNull() } }

  /// Removes the values from `row` on.
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

  /// Reserves capacity for `count` values.
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

  /// Adds the default value.
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

  /// Removes all values and releases large buffers.
  mutating func removeAll() {
    isNull.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
    nanoseconds.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: bytes.count <= Self.maximumKept)
    ends.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
  }

  private static let maximumKept = 1 << 16

  /// Returns the start of the string or binary of `row` in `bytes`; for the row after the last, the end of all.
  func start(_ row: Int) -> Int { row == 0 ? 0 : Int(ends[row - 1]) }

  /// Returns the range of the string or binary of `row` in `bytes`.
  func range(_ row: Int) -> Range<Int> { start(row)..<start(row + 1) - zeros }

  /// Calls `body` with the value of a row. A list or dictionary appears as an empty one.
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
