// Finds objects by primary key, by link and by query: find-objects FILE

import RealmPages
import RealmQuery

let realm = try Realm(Configuration(path: CommandLine.arguments[1]))
try realm.read { snapshot in
  // By primary key. A value is a copy, so it can be used after the version was released.
  if let book = try snapshot.object("Book", primaryKey: .int(2)) {
    print(try snapshot.value(of: book, "title").text ?? "no title")
    // A link is an object, too.
    if let author = try snapshot.value(of: book, "author").object {
      print(try snapshot.value(of: author, "name").text ?? "no name")
    }
  }
  // By a query, which returns keys in the requested order.
  let books = try snapshot.table(ofClass: "Book")
  let query = try ObjectQuery("author.name == 'Ann' AND pages > 100 SORT(title ASC)", of: books, in: snapshot)
  for key in try query.keys() {
    let title = try snapshot.value(of: ObjectReference(table: books.key, key: key), "title")
    print("- \(title.text ?? "no title")")
  }
}
