// Rows and objects in the form in which the page receives them.

import Foundation
import RealmJSON
import RealmPages
import RealmWeb
import TestSupport
import Testing

@Suite("Rows and objects")
struct RowTests {
  private func rows(_ answer: [String: Any]) throws -> [[String: Any]] {
    try #require(answer["rows"] as? [[String: Any]])
  }

  private func keys(_ answer: [String: Any]) throws -> [String] {
    try rows(answer).map { try #require($0["key"] as? String) }
  }

  @Test("pages by position list the objects in key order")
  func positions() throws {
    let served = try ServedRealm("items-10k").open()
    let snapshot = try Fixture.named("items-10k").snapshot()
    let tables = try snapshot.tableKeys().compactMap { try snapshot.table($0) }
    let table = try #require(tables.first { $0.objectCount > 5000 }), name = try #require(table.className)
    let cursor = ObjectCursor(table)
    var expected: [String] = []
    while try cursor.next() { expected.append("\(cursor.key)") }
    for position in [0, 1, 255, 256, 257, 4711, expected.count - 3, expected.count, expected.count + 10] {
      let answer = try served.get("classes/\(name)/rows?position=\(position)&limit=7")
      #expect(try keys(answer) == Array(expected.dropFirst(position).prefix(7)), "\(position)")
      #expect(answer["count"] as? Int == expected.count && answer["position"] as? Int == position)
    }
    #expect(try rows(served.get("classes/\(name)/rows?limit=500")).count == 500)
    #expect(try rows(served.get("classes/\(name)/rows?limit=0")).isEmpty)
  }

  @Test("pages of a filtered and sorted class match the query language")
  func sorted() throws {
    let served = try ServedRealm("people").open()
    let all = try keys(served.get("classes/Person/rows?query=age%20%3E%2025&sort=-age"))
    let same = try keys(served.get("classes/Person/rows?query=age%20%3E%2025%20SORT(age%20DESC)"))
    #expect(all == same && all.count > 3)
    let page = try served.get("classes/Person/rows?query=age+%3E+25&sort=-age&position=2&limit=2&columns=age,name")
    #expect(try served.get("classes/Person/rows?columns=age%2Cname").keys.contains("rows"))
    #expect(try keys(page) == Array(all.dropFirst(2).prefix(2)))
    #expect(page["count"] as? Int == all.count)
    #expect(try #require(rows(page).first?["values"] as? [String: Any]).keys.sorted() == ["age", "name"])
    let backwards = try keys(served.get("classes/Person/rows?sort=name"))
    #expect(try keys(served.get("classes/Person/rows?sort=-name")) == backwards.reversed())
  }

  @Test("a page after an object key begins with the next object, even if that one was deleted")
  func after() throws {
    let served = try ServedRealm("people", writes: true).open()
    let rows = "classes/Person/rows?limit=3"
    let all = try keys(served.get("classes/Person/rows?limit=500"))
    #expect(try keys(served.get(rows + "&after=\(all[1])")) == Array(all[2..<5]))
    #expect(try served.change("DELETE", "classes/Person/objects/\(all[1])").status == 200)
    #expect(try keys(served.get(rows + "&after=\(all[1])")) == Array(all[2..<5]))
    #expect(try keys(served.get(rows + "&after=\(all[all.count - 1])")).isEmpty)
    let some = try keys(served.get("classes/Person/rows?query=age%20%3E%2025"))
    #expect(try keys(served.get(rows + "&query=age%20%3E%2025&after=\(some[0])")) == Array(some[1..<4]))
    for wrong in ["sort=age&after=1", "position=0&after=1", "query=age%20%3E%2025%20SORT(age%20ASC)&after=1"] {
      #expect(try served.request("GET", "/api/\(rows)&\(wrong)").status == 400, "\(wrong)")
    }
    #expect(try served.request("GET", "/api/\(rows)&after=x").status == 404)
  }

  @Test("the first pages of a sorted class, which are found without sorting all, agree with the others")
  func firstPages() throws {
    let served = try ServedRealm { transaction in
      let table = try transaction.addTable("class_A")
      let number = try transaction.addColumn(table, ColumnSpec("number", .int))
      for index in 0..<3000 {
        try transaction.set(table, try transaction.create(table), number, .int(Int64(index * 7 % 100)))
      }
    }.open()
    for target in ["classes/A/rows?sort=number", "classes/A/rows?sort=-number&query=number%20%3C%2090"] {
      let first = try served.get(target + "&position=500&limit=500")
      let other = try served.get(target + "&position=600&limit=500")
      #expect(try keys(first)[100...].elementsEqual(keys(other)[..<400]))
      #expect(first["count"] as? Int == other["count"] as? Int)
      #expect(first["count"] as? Int == (target.contains("query") ? 2700 : 3000))
    }
  }

  @Test("an error in a query is reported with its column")
  func queryErrors() throws {
    let served = try ServedRealm("people").open()
    let answer = try served.request("GET", "/api/classes/Person/rows?query=age%20%3E%3E%203&sort=name")
    #expect(answer.status == 400)
    #expect(try answer.json["column"] as? Int == 6)
    let sort = try served.request("GET", "/api/classes/Person/rows?sort=friends")
    #expect(sort.status == 400)
    #expect(try sort.json["column"] == nil)
  }

  @Test("long values are truncated, and the row contains their sizes")
  func bounds() throws {
    let served = try ServedRealm { transaction in
      let table = try transaction.addTable("class_A")
      let text = try transaction.addColumn(table, ColumnSpec("text", .string))
      let data = try transaction.addColumn(table, ColumnSpec("data", .data))
      let list = try transaction.addColumn(table, ColumnSpec("list", .string, collection: .list))
      let mixed = try transaction.addColumn(table, ColumnSpec("mixed", .mixed, isNullable: true))
      let object = try transaction.create(table)
      try transaction.set(table, object, text, .text(String(repeating: "é", count: 1 << 16)))
      try transaction.set(table, object, data, .data([UInt8](repeating: 7, count: 1 << 17)))
      try transaction.assign(
        table,
        object,
        list,
        .list(Array(repeating: .text(String(repeating: "x", count: 300)), count: 100))
      )
      let inner = Value.list(
        Array(repeating: .list(Array(repeating: .list(Array(repeating: .int(1), count: 21)), count: 21)), count: 21)
      )
      try transaction.assign(table, object, mixed, inner)
    }.open()
    let answer = try served.request("GET", "/api/classes/A/rows")
    #expect(answer.body.count < 32 << 10)
    let row = try #require(rows(try answer.json).first)
    let values = try #require(row["values"] as? [String: Any]), cut = try #require(row["cut"] as? [String: Int])
    #expect((values["text"] as? String)?.utf8.count == 256)
    #expect((values["list"] as? [String])?.count == 20)
    #expect(cut == ["text": 1 << 17, "data": 1 << 17, "list": 100, "mixed": 21])
    let object = try served.get("classes/A/objects/0")
    #expect((((object["json"] as? [String: Any])?["text"]) as? String)?.count == 1 << 16)
  }

  @Test("names and values with markup are transferred unchanged")
  func hostileNames() throws {
    let names = ["<script>alert(1)</script>", "a/b", "..", "%2e%2e", "a b?c=d&e#f", "\u{202E}x", "é\"'\\"]
    let served = try ServedRealm { transaction in
      for name in names {
        let table = try transaction.addTable("class_" + name)
        let column = try transaction.addColumn(table, ColumnSpec("<b>,\"%", .string))
        try transaction.set(
          table,
          try transaction.create(table),
          column,
          .text("</script><img src=x onerror=alert(1)>")
        )
      }
    }.open()
    let classes = try #require(served.get("classes")["classes"] as? [[String: Any]])
    #expect(classes.compactMap { $0["name"] as? String } == names)
    for name in names {
      let path = try #require(name.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
      let answer = try served.request("GET", "/api/classes/\(path)/rows?columns=%3Cb%3E%2C%22%25")
      #expect(answer.headers["content-type"] == "application/json")
      let values = try #require(rows(try answer.json).first?["values"] as? [String: String])
      #expect(values == ["<b>,\"%": "</script><img src=x onerror=alert(1)>"], "\(name)")
    }
  }

  @Test("an object is returned with its JSON, its text in a mount and the objects that link to it")
  func objects() throws {
    let served = try ServedRealm("people").open()
    let snapshot = try Fixture.named("people").snapshot()
    let table = try #require(try snapshot.table(named: "class_Person")), out = OutputBuffer()
    let key = try #require(try table.objectKey(primaryKey: .int(4)))
    _ = try ObjectRenderer(snapshot).render(table, key, layout: .pretty, into: out)
    let object = try served.get("classes/Person/objects/\(key)")
    #expect(object["text"] as? String == out.string)
    #expect((object["json"] as? [String: Any])?["_id"] as? Int == 4)
    let values = try #require(object["values"] as? [String: Any])
    let dog = try #require(values["dog"] as? [String: Any])
    #expect(dog["class"] as? String == "Dog" && dog["label"] as? String == "Fido")
    let dogKey = try #require(dog["key"] as? String)
    let links = try served.get("classes/Dog/objects/\(dogKey)/backlinks?limit=1")
    let query = try served.get("classes/Person/rows?query=dog.name%20%3D%3D%20'Fido'")
    #expect(links["count"] as? Int == query["count"] as? Int)
    let link = try #require((links["links"] as? [[String: String]])?.first)
    #expect(link["class"] == "Person" && link["property"] == "dog")
    #expect(try keys(query).contains(link["key"] ?? ""))
    #expect((links["links"] as? [Any])?.count == 1)
  }

  @Test("binary data is shown as an image only if it is one")
  func blobs() throws {
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0]
    let html = Array("<html><script>alert(1)</script></html>".utf8), svg = Array("<svg onload='alert(1)'/>".utf8)
    let served = try ServedRealm { transaction in
      let table = try transaction.addTable("class_A")
      let data = try transaction.addColumn(table, ColumnSpec("data", .data))
      for bytes in [png, html, svg] { try transaction.set(table, try transaction.create(table), data, .data(bytes)) }
    }.open()
    for (key, bytes) in [png, html, svg].enumerated() {
      let answer = try served.request("GET", "/api/classes/A/objects/\(key)/blob/data")
      #expect(answer.body == bytes)
      #expect(answer.headers["content-type"] == (key == 0 ? "image/png" : "application/octet-stream"))
      #expect(answer.headers["content-disposition"]?.hasPrefix(key == 0 ? "inline" : "attachment") == true)
    }
    #expect(try served.request("GET", "/api/classes/A/objects/0/blob/nothing").status == 404)
  }

  @Test("facets count the values of properties with and without an index")
  func facets() throws {
    let served = try ServedRealm { transaction in
      let table = try transaction.addTable("class_A")
      let plain = try transaction.addColumn(table, ColumnSpec("plain", .string, isNullable: true))
      let indexed = try transaction.addColumn(table, ColumnSpec("indexed", .string, isNullable: true))
      try transaction.addIndex(table, indexed)
      for number in 0..<60 {
        let object = try transaction.create(table)
        let value = number % 6 == 0 ? Value.null : .text(["a", "b", "b", "c"][number % 4])
        try transaction.set(table, object, plain, value)
        try transaction.set(table, object, indexed, value)
      }
    }.open()
    func counts(_ property: String) throws -> [String: Int] {
      let values = try #require(served.get("classes/A/facets?property=\(property)")["values"] as? [[String: Any]])
      return Dictionary(uniqueKeysWithValues: values.map { ("\($0["value"] ?? "")", $0["count"] as? Int ?? 0) })
    }
    let expected = try counts("plain")
    #expect(expected.values.reduce(0, +) == 60 && expected["b"] == 25)
    #expect(try counts("indexed") == expected)
    #expect(try served.get("classes/A/facets?property=plain&limit=1")["more"] as? Bool == true)
    #expect(try served.request("GET", "/api/classes/A/facets").status == 400)
  }

  @Test("text search covers all classes and ignores case")
  func search() throws {
    let served = try ServedRealm { transaction in
      for name in ["class_A", "class_B"] {
        let table = try transaction.addTable(name)
        let text = try transaction.addColumn(table, ColumnSpec("text", .string))
        for number in 0..<20 {
          let filling = String(repeating: "日本", count: 100)
          let value = Value.text("\(filling)Straße \(number)\(filling)")
          try transaction.set(table, try transaction.create(table), text, value)
        }
      }
    }.open()
    let answer = try served.get("search?text=STRASSE%2013")
    #expect((answer["hits"] as? [Any])?.isEmpty == true && answer["complete"] as? Bool == true)
    let hits = try #require(served.get("search?text=sTRAßE%2013")["hits"] as? [[String: String]])
    #expect(hits.map { $0["class"] } == ["A", "B"] && hits.allSatisfy { $0["key"] == "13" })
    let excerpt = try #require(hits.first?["excerpt"])
    #expect(excerpt.contains("Straße 13") && excerpt.utf8.count < 120 && !excerpt.contains("\u{FFFD}"))
    let some = try served.get("search?text=stra&limit=5")
    #expect((some["hits"] as? [Any])?.count == 5 && some["complete"] as? Bool == false)
  }

  @Test("downloads contain the objects of the query")
  func exports() throws {
    let served = try ServedRealm("people").open()
    let csv = try served.request("GET", "/api/export?class=Person&format=csv&query=age%20%3E%2025")
    let count = try served.get("classes/Person/rows?query=age%20%3E%2025")["count"] as? Int
    #expect(csv.text.split(separator: "\n").count - 1 == count)
    #expect(csv.headers["content-disposition"]?.contains("filename=\"shown-Person.csv\"") == true)
    let sqlite = try served.request("GET", "/api/export?format=sqlite")
    #expect(sqlite.text.hasPrefix("SQLite format 3"))
    #expect(sqlite.headers["content-length"] == "\(sqlite.body.count)")
    let wrong = try served.request("GET", "/api/export?class=Person&query=age%20%3E%3E%201")
    #expect(wrong.status == 400)
    #expect(try wrong.json["column"] as? Int == 6)
  }
}
