// Creates a realm with two classes and changes it: change-objects FILE

import RealmPages

let writer = try RealmWriter(Configuration(path: CommandLine.arguments[1]), create: true)

// One transaction: all of it is on disk when `write` returns, or none of it.
try writer.write { transaction in
  guard try transaction.tableKey(named: "class_Book") == nil else { return }
  let author = try transaction.addClass("Author", [ColumnSpec("name", .string)], primaryKey: "name")
  _ = try transaction.addClass(
    "Book",
    [
      ColumnSpec("id", .int), ColumnSpec("title", .string), ColumnSpec("pages", .int, isNullable: true),
      ColumnSpec("tags", .string, collection: .list), ColumnSpec("author", .link, target: author),
    ],
    primaryKey: "id"
  )
  let ann = try transaction.create("Author", primaryKey: .text("Ann"))
  for (id, title) in [(1, "Winter"), (2, "Spring"), (3, "Summer")] {
    _ = try transaction.create(
      "Book",
      primaryKey: .int(Int64(id)),
      ["title": .text(title), "pages": .int(Int64(100 * id)), "author": .link(to: ann)]
    )
  }
}

// If the closure throws, nothing is changed.
try writer.write { transaction in
  guard let book = try transaction.object("Book", primaryKey: .int(2)) else { return }
  try transaction.set(book, "title", to: .text("Late Spring"))
  try transaction.append(.text("garden"), to: book, "tags")
  if let first = try transaction.object("Book", primaryKey: .int(1)) { try transaction.delete(first) }
}

// The realm of the writer sees each commit at once.
try writer.realm.read { snapshot in print("books: \(try snapshot.table(ofClass: "Book").objectCount)") }
