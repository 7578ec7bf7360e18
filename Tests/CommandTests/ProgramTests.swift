// The commands that need no mount, run as processes on fixtures. Mounts are tested by Tests/e2e.

import Foundation
import TestSupport
import Testing

@testable import realmfs

@Suite("Program")
struct ProgramTests {
  private let people = Place.fixture("people.realm")

  @Test("version prints the version and the formats")
  func version() throws {
    for words in [["version"], ["--version"], ["-V"]] {
      let outcome = try run(Place.program, words)
      #expect(outcome.status == 0)
      #expect(outcome.output.hasPrefix("realmfs 0."))
      #expect(outcome.output.contains("24"))
    }
  }

  @Test("a usage error is one line on standard error, and exit code 2")
  func usage() throws {
    for words in [[], ["mout"], ["--colour"], ["cat"], ["help", "mout"], ["help", "--completions", "csh"]] {
      let outcome = try run(Place.program, words)
      #expect(outcome.status == 2)
      #expect(outcome.output.isEmpty)
      #expect(outcome.errors.hasPrefix("realmfs: "))
      #expect(outcome.errors.contains("--help"))
      #expect(outcome.errors.filter { $0 == "\n" }.count == 1)
    }
  }

  @Test(
    "a command name of another program suggests the equivalent command",
    arguments: [
      ("ls", "cat FILE'"), ("list", "cat FILE'"), ("tables", "cat FILE'"), ("show", "cat FILE CLASS"),
      ("dump", "export FILE"), ("get", "cat FILE CLASS"), ("count", "query --count"), ("search", "query FILE CLASS"),
      ("find", "query FILE CLASS"), ("grep", "query FILE CLASS"), ("select", "query FILE CLASS"),
      ("sql", "query FILE CLASS"), ("rm", "delete FILE"), ("add", "insert FILE"), ("edit", "set FILE"),
      ("log", "versions --changes FILE"), ("history", "versions --changes FILE"),
    ]
  )
  func guesses(word: String, use: String) throws {
    let outcome = try run(Place.program, [word, people])
    #expect(outcome.status == 2)
    #expect(outcome.errors.hasPrefix("realmfs: unknown command '\(word)'; use 'realmfs "))
    #expect(outcome.errors.contains("'realmfs \(use)"))
  }

  @Test("no suggestion shadows a command, and each names existing commands")
  func guessesAreTrue() {
    for (words, use) in Program.guesses {
      for word in words { #expect(CommandName(rawValue: word) == nil) }
      for part in use.components(separatedBy: "'realmfs ").dropFirst() {
        #expect(CommandName(rawValue: String(part.prefix { $0.isLetter || $0 == "-" })) != nil, "\(part)")
      }
    }
  }

  @Test("info runs a key command that fails once")
  func keyCommandOnce() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let log = folder.url.appending(path: "log").path
    let outcome = try realmfs("info", "--key-command", "echo x >>'\(log)'; exit 3", people)
    #expect(outcome.status == 5)
    #expect(outcome.errors.contains("the command ended with exit status 3"))
    #expect(try String(contentsOfFile: log, encoding: .utf8) == "x\n")
  }

  @Test("info describes the file")
  func info() throws {
    let outcome = try realmfs("info", people)
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("format          24\n"))
    #expect(outcome.output.contains("19 objects, primary key _id"))
    let json = try realmfs("info", "--json", people)
    let facts = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    #expect(facts?["format"] as? Int == 24)
    #expect(facts?["encrypted"] as? Bool == false)
    #expect((facts?["classes"] as? [[String: Any]])?.map { $0["objects"] as? Int } == [5, 19])
  }

  @Test("cat prints a class as lines in the order of the object keys")
  func catClass() throws {
    let outcome = try realmfs("cat", people, "Dog")
    #expect(outcome.status == 0)
    #expect(outcome.output.hasPrefix(#"{"name":"Rex","weight":4.5,"good":true}"# + "\n"))
    #expect(outcome.output.filter { $0 == "\n" }.count == 5)
  }

  @Test("cat prints an object as its file, with and without .json", arguments: ["Person/4.json", "Person/4"])
  func catObject(path: String) throws {
    let outcome = try realmfs("cat", people, path)
    #expect(outcome.status == 0)
    #expect(outcome.output.hasPrefix("{\n  \"_id\": 4,\n  \"name\": \"Person 1\",\n"))
    #expect(outcome.output.hasSuffix("}\n"))
  }

  @Test("schema prints the whole schema or some classes")
  func schema() throws {
    let whole = try realmfs("schema", people)
    #expect(whole.status == 0 && whole.output.contains("\"schemaVersion\""))
    let one = try realmfs("schema", "--class", "Dog", people)
    let schema = try JSONSerialization.jsonObject(with: Data(one.output.utf8)) as? [String: Any]
    #expect(schema?["name"] as? String == "Dog")
    #expect(schema?["primaryKey"] as? String == "name")
  }

  @Test("check accepts valid fixtures")
  func check() throws {
    let outcome = try realmfs("check", people)
    #expect(outcome.status == 0)
    #expect(outcome.output.contains(": sound: "))
  }

  @Test("output to closed standard descriptors is not written to a file opened later")
  func closedDescriptors() throws {
    let folder = try TemporaryFolder(), copy = folder.url.appending(path: "a.realm")
    defer { folder.remove() }
    try FileManager.default.copyItem(at: URL(fileURLWithPath: people), to: copy)
    let outcome = try run(
      URL(fileURLWithPath: "/bin/sh"),
      ["-c", "\"$0\" cat \"$1\" Dog <&- >&- 2>&-", Place.program.path, copy.path]
    )
    #expect(outcome.status == 0)
    #expect(try Data(contentsOf: copy) == Data(contentsOf: URL(fileURLWithPath: people)))
  }
}
