// Prints every object of a realm: list-objects FILE

import RealmPages

let realm = try Realm(Configuration(path: CommandLine.arguments[1]))
try realm.read { snapshot in
  for table in try snapshot.classes() {
    print("\(table.className ?? table.name) (\(table.objectCount))")
    let cursor = ObjectCursor(table)
    while try cursor.next() {
      var fields: [String] = []
      for (index, column) in table.columns.enumerated() {
        switch try cursor.value(index) {
        case .int(let number): fields.append("\(column.name) = \(number)")
        case .bool(let flag): fields.append("\(column.name) = \(flag)")
        case .string(let bytes): fields.append("\(column.name) = \(bytes.string)")
        case .list(let list): fields.append("\(column.name)[\(list.count)]")
        default: break
        }
      }
      print("  \(cursor.key): \(fields.joined(separator: ", "))")
    }
  }
}
