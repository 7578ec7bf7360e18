// Measures RealmSwift: inserts, property reads, queries, iteration, notifications. Prints one JSON line for each
// measure, in milliseconds or kilobytes, with a sum that verifies that a peer program did the same work.
//
//     ObjectBench FOLDER [OBJECTS] [ROUNDS] [MEASURE]

import Foundation
import RealmSwift
import Synchronization

class Item: Object {
  @Persisted(primaryKey: true) var _id = 0
  @Persisted var name = ""
  @Persisted var quantity = 0
  @Persisted var price = 0.0
  @Persisted var isActive = false
  @Persisted(indexed: true) var code = 0
}

let arguments = CommandLine.arguments
guard arguments.count > 1 else {
  print("usage: ObjectBench FOLDER [OBJECTS] [ROUNDS] [MEASURE]")
  exit(2)
}
let folder = URL(fileURLWithPath: arguments[1])
let count = arguments.count > 2 ? Int(arguments[2]) ?? 100_000 : 100_000
let rounds = arguments.count > 3 ? Int(arguments[3]) ?? 5 : 5

/// The only measure to run; all if empty. Objects are always inserted.
let wanted = arguments.count > 4 ? arguments[4] : ""

func measure(_ name: String, per times: Int = 1, _ body: () throws -> Int) rethrows {
  if !wanted.isEmpty, wanted != name, name != "insert" { return }
  let clock = ContinuousClock(), start = clock.now
  let sum = try body()
  report(name, (clock.now - start) / .milliseconds(1) / Double(times), sum)
}

func report(_ name: String, _ value: Double, _ sum: Int) {
  print("{\"measure\":\"\(name)\",\"value\":\(String(format: "%.4f", value)),\"check\":\(sum)}")
}

/// The resident set in kilobytes.
func residentSet() -> Int {
  let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""  // 0 if the file is missing
  let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  return pages * sysconf(Int32(_SC_PAGESIZE)) / 1024
}

func insert(into configuration: Realm.Configuration) throws -> Int {
  let realm = try Realm(configuration: configuration)
  try realm.write {
    for index in 0..<count {
      let item = Item()
      item._id = index
      item.name = "item \(index * 7919 % 1_000_003)"
      item.quantity = index * 31 % 10_007
      item.price = Double(index) / 4
      item.isActive = index % 3 == 0
      item.code = index * 17 % 1009
      realm.add(item)
    }
  }
  return realm.objects(Item.self).count
}

func read(_ realm: Realm) {
  if !wanted.isEmpty, !wanted.hasPrefix("read") { return }
  let objects = Array(realm.objects(Item.self)), passes = max(1, 1_000_000 / count)
  measure("read-int") {
    var sum = 0
    for _ in 0..<passes { for object in objects { sum += object.quantity } }
    return sum
  }
  measure("read-string") {
    var sum = 0
    for _ in 0..<passes { for object in objects { sum += object.name.utf8.count } }
    return sum
  }
}

func query(_ realm: Realm) {
  let items = realm.objects(Item.self)
  measure("where", per: 20) {
    (0..<20).reduce(0) { sum, step in sum + items.where { $0.quantity > step * 500 }.count }
  }
  measure("where-indexed", per: 1000) {
    (0..<1000).reduce(0) { sum, code in sum + items.where { $0.code == code }.count }
  }
  measure("iterate") {
    var sum = 0
    for item in realm.objects(Item.self) { sum += item.quantity }
    return sum
  }
  measure("iterate-where") {
    var sum = 0
    for item in items.where({ $0.quantity > 5000 }) { sum += item.quantity }
    return sum
  }
  measure("sorted") {
    let sorted = items.sorted(byKeyPath: "name")
    return (0..<min(1000, count)).reduce(0) { $0 + sorted[$1].quantity }
  }
}

/// Measures the time from a commit to the call of the observer on another thread: the median of 200 rounds.
func latency(_ configuration: Realm.Configuration) throws {
  let queue = DispatchQueue(label: "observer"), called = DispatchSemaphore(value: 0)
  let clock = ContinuousClock(), times = Mutex<[Duration]>([]), began = Mutex(clock.now)
  let realm = try Realm(configuration: configuration)
  let token = realm.objects(Item.self).where { $0.quantity > 9900 }.observe(on: queue) { change in
    if case .update = change { times.withLock { $0.append(clock.now - began.withLock { $0 }) } }
    called.signal()
  }
  called.wait()
  guard let item = realm.objects(Item.self).where({ $0.quantity == 9990 }).first else { return }
  for round in 1...200 {
    realm.beginWrite()
    item.code = round
    began.withLock { $0 = clock.now }
    try realm.commitWrite()
    called.wait()
  }
  let sorted = times.withLock { $0.sorted() }
  report("latency", sorted[sorted.count / 2] / .milliseconds(1), sorted.count)
  token.invalidate()
}

let configuration = Realm.Configuration(fileURL: folder.appending(path: "items.realm"), objectTypes: [Item.self])
for _ in 0..<(wanted.isEmpty || wanted == "insert" ? rounds : 1) {
  _ = try Realm.deleteFiles(for: configuration)
  try measure("insert") { try insert(into: configuration) }
}
let realm = try Realm(configuration: configuration)
for _ in 0..<rounds { read(realm) }
for _ in 0..<rounds { query(realm) }
if !wanted.isEmpty { exit(0) }
let before = residentSet()
var sum = 0
for item in realm.objects(Item.self) { sum += item.code }
report("memory-kB", Double(residentSet() - before), sum)
try latency(configuration)
