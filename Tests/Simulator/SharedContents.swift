// The content that the programs of a simulation write: each counts its commits in one object, and objects whose bytes
// contain their number are created and deleted. Each commit includes a sum over everything, so a mixture of versions is
// detected.

import RealmPages
import TestSupport

/// The content of one version.
struct SharedContents: Equatable {
  struct Mixture: Error, CustomStringConvertible { let description: String }

  let version: UInt64
  /// The last commit of each program.
  let numbers: [Int64]
  private let objects: Int

  /// The maximum number of programs.
  static let programs = 5

  /// Reads everything; throws if it is inconsistent.
  init(_ snapshot: Snapshot) throws {
    version = snapshot.version
    guard let programs = try snapshot.table(named: "class_Program"), let items = try snapshot.table(named: "class_Item")
    else {
      (numbers, objects) = (Array(repeating: 0, count: Self.programs), 0)
      return
    }
    func int(_ cursor: ObjectCursor, _ column: Int) throws -> Int64 {
      if case .int(let number) = try cursor.value(column) { number } else { -1 }
    }
    var numbers: [Int64] = [], sum: Int64 = 0, promised: Int64 = 0, objects = 0
    let program = ObjectCursor(programs)
    while try program.next() {
      numbers.append(try int(program, 0))
      promised += try int(program, 1)
    }
    let item = ObjectCursor(items)
    while try item.next() {
      let id = try int(item, 0)
      guard case .data(let bytes) = try item.value(1),
        bytes.unsafeBytes.allSatisfy({ $0 == UInt8(truncatingIfNeeded: id) })
      else { throw Mixture(description: "version \(snapshot.version): item \(id) has the bytes of another") }
      sum += id
      objects += 1
    }
    if sum != promised || numbers.count != Self.programs {
      throw Mixture(description: "version \(snapshot.version): the items sum up to \(sum) instead of \(promised)")
    }
    if let problem = Verifier(snapshot).problems(limit: 1).first {
      throw Mixture(description: "version \(snapshot.version): \(problem)")
    }
    (self.numbers, self.objects) = (numbers, objects)
  }

  /// Makes a commit of one program, and returns its number.
  @discardableResult
  static func change(
    _ transaction: borrowing WriteTransaction,
    _ number: Int,
    _ random: inout SplitMix64
  ) throws -> Int64 {
    if try transaction.tableKey(named: "class_Program") == nil { try prepare(transaction) }
    guard let programs = try transaction.tableKey(named: "class_Program"),
      let items = try transaction.tableKey(named: "class_Item")
    else { throw Mixture(description: "no classes") }
    let counters = try transaction.columns(of: programs).map(\.key),
      columns = try transaction.columns(of: items).map(\.key)
    let own = ObjKey(Int64(number))
    func int(_ table: TableKey, _ object: ObjKey, _ column: ColKey) throws -> Int64 {
      if case .int(let number) = try transaction.value(table, object, column) { number } else { -1 }
    }
    var sum = try int(programs, own, counters[1])
    let made = try int(programs, own, counters[0]) + 1
    for _ in 0...random.below(5) {
      let id = Int64(random.below(1000)), length = [0, 10, 60, 300, 3000][random.below(5)]
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: length)
      _ = try transaction.create(items, values: [(columns[0], .int(id)), (columns[1], .data(bytes))])
      sum += id
    }
    let cursor = ObjectCursor(try transaction.table(items))
    var keys: [ObjKey] = []
    while try cursor.next() { keys.append(cursor.key) }
    let odds = keys.count > 60 ? 2 : 20
    for key in keys where random.below(odds) == 0 {
      sum -= try int(items, key, columns[0])
      try transaction.delete(items, key)
    }
    try transaction.set(programs, own, counters[0], .int(made))
    try transaction.set(programs, own, counters[1], .int(sum))
    return made
  }

  private static func prepare(_ transaction: borrowing WriteTransaction) throws {
    let programs = try transaction.addTable("class_Program"), items = try transaction.addTable("class_Item")
    for name in ["commits", "sum"] { _ = try transaction.addColumn(programs, ColumnSpec(name, .int)) }
    for _ in 0..<Self.programs { _ = try transaction.create(programs) }
    _ = try transaction.addColumn(items, ColumnSpec("id", .int))
    _ = try transaction.addColumn(items, ColumnSpec("bytes", .data))
  }
}
