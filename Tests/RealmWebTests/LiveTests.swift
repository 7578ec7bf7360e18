// Changes: those of other programs as they are made, and those that the page makes.

import Foundation
import RealmPages
import RealmWeb
import TestSupport
import Testing

@Suite("Changes in a browser")
struct LiveTests {
  /// Opens the stream of changes and returns it after its first event.
  private func events(_ served: ServedRealm) throws -> Connection {
    let connection = try Connection(served.port)
    connection.send(
      "GET /api/changes HTTP/1.1\r\nHost: \(served.host)\r\nCookie: \(served.cookie)\r\n"
        + "X-Realmfs-Key: \(served.key)\r\nConnection: close\r\n\r\n"
    )
    let head = connection.receive { $0.contains("event: version\ndata: {\"version\":") && $0.contains("}\n\n") }
    #expect(head.contains("text/event-stream"))
    return connection
  }

  private func key(of name: String, in path: String) throws -> TableKey {
    try #require(try Realm(Configuration(path: path)).latest().table(named: "class_" + name)).key
  }

  @Test("a commit by another program is sent as an event with the changed objects")
  func commits() throws {
    let served = try ServedRealm("people").open()
    let streams = [try events(served), try events(served)]
    let other = try RealmWriter(Configuration(path: served.path))
    let transaction = try other.begin()
    let table = try #require(try transaction.tableKey(named: "class_Dog"))
    let object = try transaction.create(table, primaryKey: .text("New"))
    let version = try transaction.commit()
    for stream in streams {
      let text = stream.receive { $0.contains("event: commit") && $0.contains("}\n\n") }
      #expect(text.contains("\"version\":\(version),"))
      #expect(text.contains(#"{"class":"Dog","key":"\#(object)","change":"create"}"#))
      #expect(text.contains("\"more\":false"))
    }
  }

  @Test("an event lists a bounded number of objects")
  func largeCommit() throws {
    let served = try ServedRealm("people").open()
    let stream = try events(served)
    let other = try RealmWriter(Configuration(path: served.path))
    let transaction = try other.begin()
    let table = try #require(try transaction.tableKey(named: "class_Dog"))
    for number in 0..<2000 { _ = try transaction.create(table, primaryKey: .text("New \(number)")) }
    _ = try transaction.commit()
    let text = stream.receive { $0.contains("event: commit") && $0.contains("\"more\":") }
    #expect(text.contains("\"more\":true"))
    #expect(text.components(separatedBy: "\"create\"").count == 501)
  }

  @Test("the number of streams is bounded, and closed ones make room")
  func streams() throws {
    let served = try ServedRealm("people").open()
    var open = try (0..<16).map { _ in try events(served) }
    #expect(try served.request("GET", "/api/changes").status == 503)
    open.removeAll()
    // The server checks for closed connections each second.
    var status = 503, tries = 0
    while status == 503, tries < 100 {
      let connection = try Connection(served.port)
      connection.send(
        "GET /api/changes HTTP/1.1\r\nHost: \(served.host)\r\nCookie: \(served.cookie)\r\n"
          + "X-Realmfs-Key: \(served.key)\r\n\r\n"
      )
      status = connection.receive { $0.contains("\r\n") }.contains(" 200 ") ? 200 : 503
      tries += 1
      usleep(100_000)
    }
    #expect(status == 200)
  }

  @Test("without a writer, every change is refused and the file stays as it is")
  func readOnly() throws {
    let served = try ServedRealm("people").open()
    let before = try Data(contentsOf: URL(fileURLWithPath: served.path))
    #expect(try served.change("PATCH", "classes/Person/objects/0", #"{"name":"x"}"#).status == 403)
    #expect(try served.change("PATCH", "classes/Person/objects/0?preview=1", #"{"name":"x"}"#).status == 403)
    #expect(try served.change("DELETE", "classes/Person/objects/0").status == 403)
    #expect(try served.change("POST", "classes/Person/objects", #"{"_id":1}"#).status == 403)
    #expect(try served.change("POST", "undo", #"{"version":1}"#).status == 403)
    #expect(try served.get("info")["writable"] as? Bool == false)
    #expect(try Data(contentsOf: URL(fileURLWithPath: served.path)) == before)
  }

  @Test("a change can be previewed, made and undone, and the file stays valid")
  func changes() throws {
    let served = try ServedRealm("people", writes: true).open()
    let path = "classes/Person/objects/0"
    let former = try served.get(path)["text"] as? String
    let preview = try served.change("PATCH", path + "?preview=1", #"{"name":"Zoe","age":null}"#).json
    let differences = try #require(preview["changes"] as? [[String: Any]])
    #expect(differences.compactMap { $0["property"] as? String } == ["name"])
    #expect(differences.first?["from"] as? String == "Person 0" && differences.first?["to"] as? String == "Zoe")
    #expect(try served.get(path)["text"] as? String == former)
    let version = try #require(try served.change("PATCH", path, #"{"name":"Zoe"}"#).json["version"] as? Int)
    #expect((try served.get(path)["values"] as? [String: Any])?["name"] as? String == "Zoe")
    #expect(try served.change("POST", "undo", "{\"version\":\(version - 1)}").status == 409)
    #expect(try served.change("POST", "undo", "{\"version\":\(version)}").json["version"] as? Int == version + 1)
    #expect(try served.get(path)["text"] as? String == former)
    #expect(try served.change("POST", "undo", "{\"version\":\(version)}").status == 409)
    let created = try served.change("POST", "classes/Person/objects", #"{"_id":77,"name":"New"}"#).json
    let key = try #require(created["key"] as? String)
    #expect((try served.get("classes/Person/objects/\(key)")["json"] as? [String: Any])?["_id"] as? Int == 77)
    #expect(try served.change("POST", "classes/Person/objects", #"{"_id":77,"name":"New"}"#).status == 409)
    #expect(Verifier(try Realm(Configuration(path: served.path)).latest()).problems().isEmpty)
  }

  @Test(
    "a change that saving a file would refuse is refused with the same reason",
    arguments: [
      (#"{"nam":"x"}"#, "did you mean name"), (#"{"age":"x"}"#, "expected a whole number"), (#"{"_id":5}"#, "_id"),
      (#"{"name":"#, "the text ends"), ("[]", "expected an object"), ("", "the text is empty"),
      (#"{"dog":"Nothing"}"#, "Nothing"),
    ]
  )
  func refusals(_ body: String, _ reason: String) throws {
    let served = try ServedRealm("people", writes: true).open()
    let answer = try served.change("PATCH", "classes/Person/objects/0", body)
    #expect(answer.status == 400)
    #expect(try (answer.json["error"] as? String)?.contains(reason) == true, "\(answer.text)")
    #expect(try served.get("info")["version"] as? Int == 5)
  }

  @Test("a deletion first lists the links that it removes")
  func deletions() throws {
    let served = try ServedRealm("people", writes: true).open()
    let row = try #require(try served.get("classes/Dog/rows?query=name%20%3D%3D%20'Fido'")["rows"] as? [[String: Any]])
      .first
    let path = "classes/Dog/objects/\(try #require(row?["key"] as? String))"
    let links = try served.change("DELETE", path + "?preview=1").json
    let count = try #require(links["count"] as? Int)
    #expect(count > 0 && (links["links"] as? [[String: Any]])?.first?["property"] as? String == "dog")
    #expect(try served.request("GET", "/api/" + path).status == 200)
    let version = try #require(try served.change("DELETE", path).json["version"] as? Int)
    #expect(try served.request("GET", "/api/" + path).status == 404)
    #expect(try served.change("DELETE", path).status == 404)
    #expect(try served.change("POST", "undo", "{\"version\":\(version)}").status == 200)
    #expect(try served.get("classes/Dog/rows?query=name%20%3D%3D%20'Fido'")["count"] as? Int == 1)
  }

  @Test("a change cannot be undone once another program has committed")
  func conflicts() throws {
    let served = try ServedRealm("people", writes: true).open()
    let answer = try served.change("PATCH", "classes/Person/objects/0", #"{"name":"Zoe"}"#)
    let version = try #require(try answer.json["version"] as? Int)
    let other = try RealmWriter(Configuration(path: served.path))
    let transaction = try other.begin()
    let table = try #require(try transaction.tableKey(named: "class_Dog"))
    _ = try transaction.create(table, primaryKey: .text("New"))
    _ = try transaction.commit()
    #expect(try served.change("POST", "undo", "{\"version\":\(version)}").status == 409)
    #expect((try served.get("classes/Person/objects/0")["values"] as? [String: Any])?["name"] as? String == "Zoe")
  }

  @Test("either exactly the previewed change is made or none, if another program commits in between")
  func changedMeanwhile() throws {
    let served = try ServedRealm("people", writes: true).open()
    let path = "classes/Person/objects/0", text = #"{"name":"Zoe"}"#
    func expectation() throws -> String {
      try #require(try served.change("PATCH", path + "?preview=1", text).json["expect"] as? String)
    }
    let before = try expectation()
    #expect(try served.change("PATCH", path, #"{"name":"Amy"}"#).status == 200)
    #expect(try served.change("PATCH", path + "?expect=" + before, text).status == 409)
    #expect((try served.get(path)["values"] as? [String: Any])?["name"] as? String == "Amy")
    // A change of another property does not matter.
    let now = try expectation()
    #expect(try served.change("PATCH", path, #"{"age":90}"#).status == 200)
    #expect(try served.change("PATCH", path + "?expect=" + now, text).status == 200)
    #expect((try served.get(path)["values"] as? [String: Any])?["name"] as? String == "Zoe")

    let row = try #require(try served.get("classes/Dog/rows?query=name%20%3D%3D%20'Fido'")["rows"] as? [[String: Any]])
      .first
    let dog = "classes/Dog/objects/\(try #require(row?["key"] as? String))"
    let links = try #require(try served.change("DELETE", dog + "?preview=1").json["expect"] as? String)
    #expect(try served.change("PATCH", path, #"{"dog":"Fido"}"#).status == 200)
    #expect(try served.change("DELETE", dog + "?expect=" + links).status == 409)
    #expect(try served.request("GET", "/api/" + dog).status == 200)
  }

  @Test("the page can end the server")
  func quit() throws {
    let served = try ServedRealm("people").open()
    #expect(try served.request("POST", "/api/quit", headers: ["Origin": "http://evil.example"]).status == 403)
    #expect(try served.change("POST", "quit").status == 200)
    served.browser.wait()
  }
}
