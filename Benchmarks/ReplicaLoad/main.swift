// Generates load for replicas: realms of many users, and commits spread over them, each of which stores its time. The
// lag of the replica is the time of the PostgreSQL transaction minus the stored time; docs/BENCHMARKS.md has the query.
//
//     ReplicaLoad make FOLDER REALMS OBJECTS       create FOLDER/u0.realm and so on
//     ReplicaLoad commit FOLDER RATE SECONDS       RATE commits a second, each in the next realm
//     ReplicaLoad fill FILE COMMITS OBJECTS        COMMITS commits, each of which writes OBJECTS objects of one realm

import Glibc
import RealmPages

struct Usage: Error, CustomStringConvertible {
  var description: String {
    "usage: ReplicaLoad make FOLDER REALMS OBJECTS | commit FOLDER RATE SECONDS | fill FILE COMMITS OBJECTS"
  }
}

/// Returns the time of a clock in microseconds.
func now(_ clock: clockid_t = CLOCK_REALTIME) -> Int64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
}

func make(_ folder: String, realms: Int, objects: Int) throws {
  for realm in 0..<realms {
    let writer = try RealmWriter(Configuration(path: "\(folder)/u\(realm).realm"), create: true)
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let id = try transaction.addColumn(table, ColumnSpec("_id", .int))
    try transaction.setPrimaryKey(table, id)
    let at = try transaction.addColumn(table, ColumnSpec("at", .int))
    let name = try transaction.addColumn(table, ColumnSpec("name", .string))
    for number in 0..<objects {
      let object = try transaction.create(table, primaryKey: .int(Int64(number)))
      try transaction.set(table, object, at, .int(0))
      try transaction.set(table, object, name, .text("item \(number) of realm \(realm)"))
    }
    _ = try transaction.commit(.grouped)
  }
}

/// Writes the current time into objects of a realm.
func touch(_ writer: RealmWriter, _ objects: some Sequence<Int>) throws {
  let transaction = try writer.begin()
  guard let table = try transaction.tableKey(named: "class_Item") else { throw Usage() }
  guard let at = try transaction.columns(of: table).first(where: { $0.name == "at" })?.key else { throw Usage() }
  for number in objects {
    guard let object = try transaction.objectKey(table, primaryKey: .int(Int64(number))) else { throw Usage() }
    try transaction.set(table, object, at, .int(now()))
  }
  _ = try transaction.commit()
}

func commit(_ folder: String, rate: Int, seconds: Int) throws {
  var realms = 0
  while access("\(folder)/u\(realms).realm", F_OK) == 0 { realms += 1 }
  if realms == 0 { throw Usage() }
  let start = now(CLOCK_MONOTONIC),
    only =
      realms == 1
      ? try RealmWriter(Configuration(path: "\(folder)/u0.realm")) : nil
  for number in 0..<rate * seconds {
    let wait = start + Int64(number) * 1_000_000 / Int64(rate) - now(CLOCK_MONOTONIC)
    if wait > 0 { usleep(useconds_t(wait)) }
    // Successive commits go to realms that are not adjacent in the directory.
    let realm = number &* 7919 % realms
    let writer = try only ?? RealmWriter(Configuration(path: "\(folder)/u\(realm).realm"))
    try touch(writer, [number % 100])
  }
  let spent = now(CLOCK_MONOTONIC) - start
  print("\(rate * seconds) commits in \(realms) realms, \(Int64(rate * seconds) * 1_000_000 / max(1, spent)) a second")
}

func run(_ words: [String]) throws {
  guard words.count == 5, let first = Int(words[3]), let second = Int(words[4]) else { throw Usage() }
  switch words[1] {
  case "make": try make(words[2], realms: first, objects: second)
  case "commit": try commit(words[2], rate: first, seconds: second)
  case "fill":
    let writer = try RealmWriter(Configuration(path: words[2]))
    for _ in 0..<first { try touch(writer, 0..<second) }
  default: throw Usage()
  }
}

do { try run(CommandLine.arguments) } catch {
  print("\(error)")
  exit(1)
}
