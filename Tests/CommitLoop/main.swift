// Commits to a realm until it is killed. Prints a line with the number of each round whose commit is on disk. KillTests
// kills it and checks the file.
//
//     CommitLoop PATH [KEY]        KEY is 128 hexadecimal digits

import Glibc
import RealmPages

/// Rounds of changes. Each stores its number, and the count and sum of all other objects.
struct Rounds {
  private let writer: RealmWriter
  private var state: UInt64

  init(path: String, key: EncryptionKey?) throws {
    writer = try RealmWriter(Configuration(path: path, encryptionKey: key), create: true)
    state = UInt64(getpid())
  }

  private mutating func random(_ bound: UInt64) -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33 % bound
  }

  /// Creates the classes, if there are none.
  func prepare() throws {
    let transaction = try writer.begin()
    if try transaction.tableKey(named: "class_Round") != nil { return transaction.rollback() }
    let rounds = try transaction.addTable("class_Round")
    for name in ["number", "count", "sum"] { _ = try transaction.addColumn(rounds, ColumnSpec(name, .int)) }
    _ = try transaction.create(rounds)
    let items = try transaction.addTable("class_Item")
    _ = try transaction.addColumn(items, ColumnSpec("value", .int))
    _ = try transaction.addColumn(items, ColumnSpec("text", .string))
    _ = try transaction.commit()
  }

  /// One round; its number if it is on disk.
  mutating func next() throws -> Int64? {
    // Alternates between the two ways to lock.
    let transaction = try random(2) == 0 ? writer.begin() : writer.beginOnThisThread()
    guard let rounds = try transaction.tableKey(named: "class_Round"),
      let items = try transaction.tableKey(named: "class_Item")
    else { return nil }
    let columns = try transaction.columns(of: rounds).map(\.key)
    let value = try transaction.columns(of: items)[0].key, text = try transaction.columns(of: items)[1].key
    var stored = try columns.map { column in
      if case .int(let number) = try transaction.value(rounds, ObjKey(0), column) { number } else { Int64(0) }
    }
    stored[0] += 1
    for _ in 0...random(20) {
      let number = Int64(random(1_000_000)), length = Int(random(8) == 0 ? random(5000) : random(60))
      let object = try transaction.create(items)
      try transaction.set(items, object, value, .int(number))
      try transaction.set(items, object, text, .string([UInt8](repeating: 0x61, count: length)))
      stored[1] += 1
      stored[2] += number
    }
    // Of many, half go.
    if stored[1] > 600 {
      let cursor = ObjectCursor(try transaction.table(items))
      var keys: [ObjKey] = []
      while try cursor.next() { if random(2) == 0 { keys.append(cursor.key) } }
      for key in keys {
        if case .int(let number) = try transaction.value(items, key, value) { stored[2] -= number }
        try transaction.delete(items, key)
        stored[1] -= 1
      }
    }
    for (column, number) in zip(columns, stored) {
      try transaction.set(rounds, ObjKey(0), column, .int(number))
    }
    let isGrouped = random(3) == 0
    _ = try transaction.commit(isGrouped ? .grouped : .full)
    return isGrouped ? nil : stored[0]
  }
}

/// 64 bytes from hexadecimal digits.
private func key(_ text: String) -> EncryptionKey? {
  let digits = text.compactMap(\.hexDigitValue)
  return EncryptionKey(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
}

/// Runs until it is killed.
private func run(_ arguments: [String]) throws {
  var rounds = try Rounds(path: arguments[1], key: arguments.count > 2 ? key(arguments[2]) : nil)
  try rounds.prepare()
  while true {
    guard let number = try rounds.next() else { continue }
    let line = Array("\(number)\n".utf8)
    // The reader of the pipe has exited.
    if write(1, line, line.count) != line.count { return }
  }
}

do { try run(CommandLine.arguments) } catch {
  print("error: \(error)")
  exit(1)
}
