// The model classes of a to-do list.

import Foundation
import RealmSwift

enum Priority: Int, PersistableEnum {
  case low, normal, high
}

class Step: EmbeddedObject {
  @Persisted var text = ""
}

class Todo: Object {
  @Persisted(primaryKey: true) var _id: ObjectId
  @Persisted var text = ""
  @Persisted(indexed: true) var isDone = false
  @Persisted var priority = Priority.normal
  @Persisted var added = Date()
  @Persisted var steps: List<Step>
  @Persisted var tags: MutableSet<String>
}
