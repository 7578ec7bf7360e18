// Measures the engine's write side and its two hottest reads, without a mount. Prints one JSON line for each measure.
//
//   WriteBench insert FILE N R   insert N objects of six properties in one transaction, and the same rows in SQLite, R
//                                times in turn; with R = 0 once, and without SQLite
//   WriteBench small FILE K      K commits of one property each, and the plain writes and syncs that they issued
//   WriteBench share FILE K      K commits in a shared realm, and in one opened exclusively, in turn
//   WriteBench open FILE K       open the realm K times, shared and immutable, until its classes are known
//   WriteBench scan FILE         sum one column
//   WriteBench lookup FILE K     look up K objects by primary key
//   WriteBench differ FILE COPY  find K changed objects between two versions of FILE, for K from 1 to 100,000, and
//                                between FILE and its COPY, which share nothing

import Glibc
import RealmPages

func seconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func report(_ name: String, _ seconds: Double, _ count: Int, _ more: String = "") {
  let each = (seconds / Double(max(count, 1)) * 1e9).rounded()
  print("{\"name\":\"\(name)\",\"seconds\":\((seconds * 1e6).rounded() / 1e6),\"each_ns\":\(Int(each))\(more)}")
}

struct Usage: Error {}

/// Returns "string number I" as bytes, without creating a String.
func text(_ number: Int) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(24)
  bytes.append(contentsOf: prefix)
  var divisor = 1
  while divisor <= number / 10 { divisor *= 10 }
  while divisor > 0 {
    bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
    divisor /= 10
  }
  return bytes
}

let prefix = Array("string number ".utf8)

/// The values of a row besides the primary key.
struct Row {
  let name: [UInt8]
  let score: Double
  let active: Bool
  /// In seconds since 1970.
  let created: Int64
  let blob: [UInt8]

  init(_ number: Int) {
    name = text(number)
    score = Double(number) / 3
    active = number & 1 == 0
    created = 1_700_000_000 + Int64(number)
    blob = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 16)
  }
}

/// Inserts `count` objects into a new realm. Returns the seconds taken, with and without the commit.
func insertIntoRealm(_ path: String, _ count: Int) throws -> (all: Double, beforeCommit: Double) {
  unlink(path)
  let writer = try RealmWriter(Configuration(path: path), create: true)
  var transaction = try writer.beginOnThisThread()
  let table = try transaction.addTable("class_Item")
  let id = try transaction.addColumn(table, ColumnSpec("_id", .int))
  try transaction.setPrimaryKey(table, id)
  let name = try transaction.addColumn(table, ColumnSpec("name", .string))
  let score = try transaction.addColumn(table, ColumnSpec("score", .double))
  let active = try transaction.addColumn(table, ColumnSpec("active", .bool))
  let created = try transaction.addColumn(table, ColumnSpec("created", .date))
  let blob = try transaction.addColumn(table, ColumnSpec("blob", .data))
  _ = try transaction.commit()
  let begin = seconds()
  transaction = try writer.beginOnThisThread()
  var values: [(ColKey, Value)] = [name, score, active, created, blob].map { ($0, .null) }
  for i in 0..<count {
    let row = Row(i)
    values[0].1 = .string(row.name)
    values[1].1 = .double(row.score)
    values[2].1 = .bool(row.active)
    values[3].1 = .date(Timestamp(seconds: row.created, nanoseconds: 0))
    values[4].1 = .data(row.blob)
    _ = try transaction.create(table, primaryKey: .int(Int64(i)), values: values)
  }
  let made = seconds()
  _ = try transaction.commit()
  return (seconds() - begin, made - begin)
}

func insert(_ path: String, _ count: Int, rounds: Int) throws {
  var ours: [Double] = [], peer: [Double] = []
  for _ in 0..<max(1, rounds) {
    let (all, beforeCommit) = try insertIntoRealm(path, count)
    report("insert", all, count, ",\"before_commit\":\((beforeCommit * 1e3).rounded() / 1e3)")
    ours.append(all)
    if rounds == 0 { return }
    peer.append(try insertIntoSQLite(path + ".sqlite", count))
    report("insert-sqlite", peer[peer.count - 1], count)
  }
  let median = ours.sorted()[rounds / 2], peerMedian = peer.sorted()[rounds / 2]
  report("sqlite-median", peerMedian, count)
  report("insert-median", median, count, ",\"ratio\":\((median / peerMedian * 1000).rounded() / 1000)")
  for suffix in ["", "-journal"] { unlink(path + ".sqlite" + suffix) }
}

func small(_ path: String, _ count: Int) throws {
  let recorder = WriteRecorder()
  let writer = try RealmWriter(Configuration(path: path), create: false) { RecordedStorage($0, recorder) }
  var transaction = try writer.beginOnThisThread()
  guard let table = try transaction.tableKey(named: "class_Item"),
    let score = try transaction.columns(of: table).first(where: { $0.name == "score" })?.key
  else { throw Usage() }
  let objects = try transaction.table(table).objectCount
  transaction.rollback()
  var times: [Double] = [], bare: [Double] = [], bytes = 0
  let replay = try FileReplay(ofCopy: path)
  // Alternate in large blocks: a write that directly repeats another finds all of its data in the processor's caches.
  var block: [[Step]] = []
  for i in 0..<count {
    let key = ObjKey(Int64(i * 7919 % objects))
    recorder.steps = []
    let begin = seconds()
    transaction = try writer.beginOnThisThread()
    try transaction.set(table, key, score, .double(Double(i) + 0.5))
    _ = try transaction.commit()
    times.append(seconds() - begin)
    bytes += recorder.steps.reduce(0) { $0 + $1.bytes.count }
    block.append(recorder.steps)
    if block.count < 50 && i < count - 1 { continue }
    // Write the same bytes at the same offsets of a copy, which is the minimum work for any program. In the file itself
    // they would go to blocks that the disk has just written, which is faster.
    for steps in block {
      let again = seconds()
      try replay.run(steps)
      bare.append(seconds() - again)
    }
    block = []
  }
  times.sort()
  bare.sort()
  let median = times[count / 2], bareMedian = bare[count / 2]
  report("small", median, 1, ",\"bytes\":\(bytes / count)")
  report("small-bare", bareMedian, 1, ",\"ratio\":\((median / bareMedian * 1000).rounded() / 1000)")
}

/// Returns the median time of commits of one property each.
func commits(_ configuration: Configuration, _ count: Int) throws -> Double {
  let writer = try RealmWriter(configuration)
  var times: [Double] = []
  for i in 0..<count {
    let begin = seconds()
    let transaction = try writer.beginOnThisThread()
    guard let table = try transaction.tableKey(named: "class_Item"),
      let score = try transaction.columns(of: table).first(where: { $0.name == "score" })?.key
    else { throw Usage() }
    try transaction.set(table, ObjKey(Int64(i)), score, .double(seconds()))
    _ = try transaction.commit()
    times.append(seconds() - begin)
  }
  return times.sorted()[count / 2]
}

func share(_ path: String, _ count: Int) throws {
  let rounds = 7
  var shared: [Double] = [], alone: [Double] = []
  for _ in 0..<rounds {
    alone.append(try commits(Configuration(path: path, mode: .exclusive), count / rounds))
    shared.append(try commits(Configuration(path: path), count / rounds))
  }
  let ours = shared.sorted()[rounds / 2], peer = alone.sorted()[rounds / 2]
  report("commit-exclusive", peer, 1)
  report("commit-shared", ours, 1, ",\"ratio\":\((ours / peer * 1000).rounded() / 1000)")
}

func open(_ path: String, _ count: Int) throws {
  for (name, mode) in [("open-shared", Configuration.Mode.shared), ("open-immutable", .immutable)] {
    var times: [Double] = []
    for _ in 0..<count {
      let begin = seconds()
      let realm = try Realm(Configuration(path: path, mode: mode))
      _ = try realm.latest().tableKeys()
      times.append(seconds() - begin)
      withExtendedLifetime(realm) {}
    }
    report(name, times.sorted()[count / 2], 1)
  }
}

func scan(_ path: String) throws {
  let realm = try Realm(Configuration(path: path))
  let snapshot = try realm.latest()
  guard let table = try snapshot.table(named: "class_Item"),
    let score = table.columns.firstIndex(where: { $0.name == "score" })
  else { throw Usage() }
  for round in 0..<2 {
    let begin = seconds()
    let cursor = ObjectCursor(table)
    var sum = 0.0, count = 0
    while try cursor.next() {
      if case .double(let value) = try cursor.value(score) { sum += value }
      count += 1
    }
    if round == 1 { report("scan", seconds() - begin, count, ",\"sum\":\(sum)") }
  }
}

func lookup(_ path: String, _ count: Int) throws {
  let realm = try Realm(Configuration(path: path))
  let snapshot = try realm.latest()
  guard let table = try snapshot.table(named: "class_Item") else { throw Usage() }
  let objects = table.objectCount
  for round in 0..<2 {
    let begin = seconds()
    var found = 0, state: UInt64 = 1
    for _ in 0..<count {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let wanted = Int64(state >> 33) % Int64(objects)
      if try table.objectKey(primaryKey: .int(wanted)) != nil { found += 1 }
    }
    if round == 1 { report("lookup", seconds() - begin, count, ",\"found\":\(found)") }
  }
}

/// Counts the objects that differ between two versions.
func changedObjects(_ old: Snapshot, _ new: Snapshot) throws -> Int {
  let difference = try VersionDifference(from: old, to: new)
  var count = 0
  for table in difference.tables {
    let changes = difference.changes(in: table)
    while try changes.next() != nil { count += 1 }
  }
  return count
}

func differ(_ path: String, copy: String) throws {
  let writer = try RealmWriter(Configuration(path: path), create: false)
  let reader = try Realm(Configuration(path: path))
  var edited = 1
  while edited <= 100_000 {
    let before = try reader.hold()
    guard let table = try before.snapshot.table(named: "class_Item"),
      let score = table.columns.first(where: { $0.name == "score" })
    else { throw Usage() }
    let transaction = try writer.beginOnThisThread()
    let distance = max(1, table.objectCount / edited)
    for i in 0..<min(edited, table.objectCount) {
      try transaction.set(table.key, ObjKey(Int64(i * distance)), score.key, .double(seconds()))
    }
    _ = try transaction.commit()
    var times: [Double] = []
    // Each round opens the newer version again: a program that follows commits also reads it for the first time.
    for _ in 0..<7 {
      let after = try Realm(Configuration(path: path)).hold()
      let begin = seconds()
      let found = try changedObjects(before.snapshot, after.snapshot)
      times.append(seconds() - begin)
      if found != edited { throw Usage() }
    }
    report("differ-\(edited)", times.sorted()[times.count / 2], edited, ",\"worst\":\(times.max() ?? 0)")
    edited *= 10
  }
  let begin = seconds()
  let found = try changedObjects(Realm(Configuration(path: copy)).latest(), reader.latest())
  report("differ-copy", seconds() - begin, 1, ",\"changed\":\(found)")
}

func run() throws {
  let arguments = CommandLine.arguments
  guard arguments.count > 2 else { throw Usage() }
  let count = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0
  switch arguments[1] {
  case "insert": try insert(arguments[2], count, rounds: arguments.count > 4 ? Int(arguments[4]) ?? 0 : 0)
  case "small": try small(arguments[2], count)
  case "share": try share(arguments[2], count)
  case "open": try open(arguments[2], count)
  case "scan": try scan(arguments[2])
  case "differ": try differ(arguments[2], copy: arguments.count > 3 ? arguments[3] : "")
  case "lookup": try lookup(arguments[2], count)
  default: throw Usage()
  }
}

do { try run() } catch {
  print("error: \(error)")
  exit(1)
}
