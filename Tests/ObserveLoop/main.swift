// One of two programs that share a realm: it observes the changes of the other, or commits until it is killed.
//
//     ObserveLoop PATH observe    a line for each notification: of the notes, and of the counter
//     ObserveLoop PATH write N    N commits, each with a new note; the number of each that is on disk

import Foundation
import RealmSwift

func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

func write(_ realm: Realm, _ rounds: Int) throws {
  let counter = try realm.write {
    realm.object(ofType: Counter.self, forPrimaryKey: 0) ?? realm.create(Counter.self)
  }
  for _ in 0..<rounds {
    let round = try realm.write {
      counter.value += 1
      realm.add(Note(value: ["round": counter.value, "text": String(repeating: "x", count: counter.value * 37 % 900)]))
      if counter.value.isMultiple(of: 10) {
        realm.delete(realm.objects(Note.self).where { $0.round <= counter.value - 20 })
      }
      counter.notes = realm.objects(Note.self).count
      return counter.value
    }
    say("\(round)")
  }
}

func observe(_ realm: Realm) -> [NotificationToken] {
  let notes = realm.objects(Note.self).observe { change in
    switch change {
    case .initial(let notes): say("notes \(notes.count)")
    case .update(let notes, let deletions, let insertions, _):
      say("notes \(notes.count) -\(deletions.count) +\(insertions.count)")
    case .error(let error): say("error \(error)")
    }
  }
  let counter = realm.object(ofType: Counter.self, forPrimaryKey: 0)?.observe { (change: ObjectChange<Counter>) in
    switch change {
    case .change(let counter, let properties):
      say("counter \(counter.value) \(properties.map(\.name).sorted().joined(separator: ","))")
    case .deleted: say("deleted")
    case .error(let error): say("error \(error)")
    }
  }
  return [notes] + [counter].compactMap { $0 }
}

let arguments = CommandLine.arguments
let configuration = Realm.Configuration(
  fileURL: URL(fileURLWithPath: arguments[1]),
  objectTypes: [Counter.self, Note.self]
)
let realm = try Realm(configuration: configuration)
if arguments[2] == "write" {
  try write(realm, Int(arguments[3]) ?? 0)
} else {
  let tokens = observe(realm)
  withExtendedLifetime(tokens) { RunLoop.main.run() }
}
