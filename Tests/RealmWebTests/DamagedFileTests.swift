// Damaged and hostile files: every request gets an answer in bounded time, and the server keeps running.

import Foundation
import RealmJSON
import RealmPages
import RealmWeb
import TestSupport
import Testing

@Suite("Damaged files in a browser")
struct DamagedFileTests {
  /// Asks for everything that the page asks for. Any status is right, if the body is JSON.
  private func visit(_ bytes: [UInt8]) throws {
    let folder = try TemporaryFolder(), path = folder.path("damaged.realm")
    defer { folder.remove() }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    // Files that do not open at all are tested elsewhere.
    guard let served = try? ServedRealm(at: path, folder) else { return }
    _ = try served.open()
    func ask(_ target: String) throws -> [String: Any] {
      let answer = try served.request("GET", "/api/" + target)
      return try #require(try? answer.json, "\(target): \(answer.text.prefix(200))")
    }
    _ = try ask("info")
    _ = try ask("schema")
    _ = try ask("search?text=a")
    let classes = try ask("classes")["classes"] as? [[String: Any]] ?? []
    for described in classes.prefix(6) {
      let name = try #require(described["name"] as? String)
      let path = "classes/" + (name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
      let rows = try ask(path + "/rows?limit=20")["rows"] as? [[String: Any]] ?? []
      _ = try ask(path + "/rows?limit=20&position=300")
      for property in (described["properties"] as? [[String: Any]] ?? []).prefix(4) {
        let text = try #require(property["name"] as? String)
        let name = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        _ = try ask(path + "/rows?limit=5&sort=-" + name)
        _ = try ask(path + "/facets?property=" + name)
        _ = try served.request("GET", "/api/\(path)/objects/0/blob/\(name)")
      }
      for row in rows.prefix(3) {
        let key = try #require(row["key"] as? String)
        _ = try ask(path + "/objects/" + key)
        _ = try ask(path + "/objects/\(key)/backlinks")
      }
      #expect(try served.request("GET", "/api/export?format=jsonl&class=" + path.dropFirst(8)).status >= 200)
    }
    // A page of a version that cannot be read ends with an error.
    guard let snapshot = try? Realm(Configuration(path: path, mode: .immutable)).latest() else { return }
    let tables = (try? snapshot.tableKeys().compactMap { try snapshot.table($0) }) ?? []
    var size = 0
    var page = StaticPage(snapshot, title: "x") { size += $0.count }
    try page.run(tables.map { StaticPage.Part($0) })
    #expect(size > 0)
  }

  @Test("malicious files are shown as far as they can be read", arguments: Fixture.damaged)
  func hostile(_ file: Fixture) throws { try visit(try file.bytes()) }

  @Test("damaged files do not stop the server", arguments: ["people", "nested", "all-types"])
  func mutants(_ name: String) throws {
    let mutator = Mutator(try Fixture.named(name).bytes())
    for seed in MutantRun.seeds(6) {
      try visit(mutator.mutant(seed: seed))
    }
  }
}
