// Prints what other programs change, for five seconds: follow-changes FILE

import RealmPages

let realm = try Realm(Configuration(path: CommandLine.arguments[1]))
let end = ContinuousClock.now.advanced(by: .seconds(5))

// While a version is held, the space that it uses is not overwritten.
var before = try realm.hold()
print("version \(before.snapshot.version)")
while ContinuousClock.now < end {
  guard realm.waitForChange(since: before.snapshot, timeout: end - .now) else { break }
  let after = try realm.hold()
  let difference = try VersionDifference(from: before.snapshot, to: after.snapshot)
  for table in difference.tables {
    let changes = difference.changes(in: table)
    while let change = try changes.next() {
      switch change {
      case .inserted(let key): print("\(table.name): object \(key) was created")
      case .deleted(let key): print("\(table.name): object \(key) was deleted")
      case .updated(let key, let properties):
        let names = properties.compactMap { table.new?.columns[$0].name }
        print("\(table.name): object \(key) has another \(names.joined(separator: ", "))")
      }
    }
  }
  before = after
}
