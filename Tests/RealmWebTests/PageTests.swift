// The files of the page, and pages without a server.

import Foundation
import RealmJSON
import RealmPages
import RealmWeb
import TestSupport
import Testing

@Suite("Embedded and exported pages")
struct PageTests {
  @Test("each file of the page is embedded unchanged")
  func resources() throws {
    let served = try ServedRealm("people").open()
    let folder = Fixture.package.appendingPathComponent("Sources/RealmWeb/Resources")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.contains("index.html"))
    for name in names {
      let answer = try served.request("GET", "/" + name)
      #expect(answer.status == 200, "\(name) is missing in CWebResources")
      #expect(try answer.body == [UInt8](Data(contentsOf: folder.appendingPathComponent(name))), "\(name)")
      let types = ["html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"]
      let type = try #require(name.split(separator: ".").last.flatMap { types[String($0)] })
      #expect(answer.headers["content-type"]?.hasPrefix(type) == true)
    }
    #expect(try served.request("GET", "/").body == served.request("GET", "/index.html").body)
    let head = try served.request("HEAD", "/index.html")
    #expect(head.status == 200 && head.body.isEmpty)
  }

  private func page(_ snapshot: Snapshot, _ parts: [StaticPage.Part]) throws -> String {
    let all = OutputBuffer()
    var page = StaticPage(snapshot, title: "a<b.realm") { out in all.append(out.bytes) }
    try page.run(parts)
    return all.string
  }

  @Test("an exported page contains no markup but its own")
  func hostileValues() throws {
    let served = try ServedRealm { transaction in
      let table = try transaction.addTable("class_<script>alert(1)</script>")
      let text = try transaction.addColumn(table, ColumnSpec("<img src=x>", .string))
      for value in [
        "</td><script>alert(2)</script>", "\"'&", "\u{202E}abc\u{0}\u{1B}[31m", String(repeating: "x", count: 1 << 20),
      ] {
        try transaction.set(table, try transaction.create(table), text, .text(value))
      }
    }
    let snapshot = try Realm(Configuration(path: served.path)).latest()
    let table = try #require(try snapshot.tableKeys().compactMap { try snapshot.table($0) }.first)
    let text = try page(snapshot, [StaticPage.Part(table)])
    for wrong in ["<script", "<img", "alert(2)</script", "\u{202E}", "\u{0}", "\u{1B}"] {
      #expect(!text.contains(wrong))
    }
    for right in [
      "<title>a&lt;b.realm</title>", "&lt;/td&gt;&lt;script&gt;alert(2)", "&quot;&#39;&amp;", "1048576 bytes",
    ] {
      #expect(text.contains(right), "\(right)")
    }
    #expect(text.utf8.count < 20_000)
  }

  @Test("an exported page shows some objects of each class, and the number of the rest")
  func bounds() throws {
    let snapshot = try Fixture.named("items-10k").snapshot()
    let table = try #require(
      try snapshot.tableKeys().compactMap { try snapshot.table($0) }.first {
        $0.className != nil && $0.objectCount > 5000
      }
    )
    let text = try page(snapshot, [StaticPage.Part(table)])
    #expect(text.components(separatedBy: "<tr id=").count - 1 == StaticPage.maxObjects)
    #expect(text.contains("\(table.objectCount - StaticPage.maxObjects) more objects not shown"))
  }

  @Test("links in an exported page lead to objects in the same file")
  func links() throws {
    let snapshot = try Fixture.named("people").snapshot()
    let tables = try snapshot.tableKeys().compactMap { try snapshot.table($0) }.filter { $0.className != nil }
    let text = try page(snapshot, tables.map { StaticPage.Part($0) })
    let targets = text.components(separatedBy: "href=\"#").dropFirst().compactMap { $0.split(separator: "\"").first }
    #expect(targets.count > tables.count)
    for target in targets { #expect(text.contains("id=\"\(target)\""), "\(target)") }
  }
}
