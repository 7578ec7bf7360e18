// The classes of the two programs' realm.

import RealmSwift

/// Counts the commits. `notes` is the number of notes in the same version.
class Counter: Object {
  @Persisted(primaryKey: true) var _id = 0
  @Persisted var value = 0
  @Persisted var notes = 0
}

class Note: Object {
  @Persisted(indexed: true) var round = 0
  @Persisted var text = ""
}
