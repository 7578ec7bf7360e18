// The table of docs/SEMANTICS.md, "Saving": each operation in each state of a draft does what its cell says.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("the states of a draft")
struct DraftTableTests {
  private enum State: String, CaseIterable {
    case clean, incomplete, complete, refused

    /// The text that was written.
    var text: String {
      switch self {
      case .clean: ""
      case .incomplete: #"{"age": "#
      case .complete: #"{"age": 77}"#
      case .refused: #"{"age": "x"}"#
      }
    }

    /// The bytes that make it a text of another state, or another text of the same state.
    func rest(to state: State) -> String {
      switch (self, state) {
      case (.clean, _): state.text
      case (.incomplete, .incomplete): "1"
      case (.incomplete, .complete): "77}"
      case (.incomplete, _): #""x"}"#
      case (_, .complete): "\n"
      case (_, _): "{"
      }
    }
  }

  /// A tree and a draft of an object in a state.
  private final class Subject {
    let tree: WritableTree
    let file: OpenFile
    let state: State
    private let before: String, version: UInt64

    init(_ state: State) throws {
      tree = try WritableTree("people")
      self.state = state
      before = try tree.tree.text("Person/4.json")
      file = try tree.open("Person/4.json")
      _ = try? tree.write(file, state.text)  // the refused one is to fail
      version = try tree.version
      #expect(now == state, "\(state)")
    }

    func append(_ text: String) throws { try tree.write(file, text, at: file.size) }

    /// The state that the draft is in.
    var now: State? {
      switch file.draft?.memory.draft {
      case .clean: .clean
      case .dirty: file.draft?.memory.isUnfinished == true ? .incomplete : .complete
      case .refused: .refused
      case .failed, nil: nil
      }
    }

    /// The outcome for the object, or the error.
    func outcome(_ body: (Subject) throws -> Void) throws -> String {
      if let error = failure({ try body(self) }) {
        #expect(try tree.version == version, "an error commits nothing")
        switch error.kind {
        case "refused invalid": return "EINVAL"
        case "refused forbidden": return "EPERM"
        default: return error.kind
        }
      }
      if try tree.version == version { return "ok" }
      #expect(try tree.version == version + 1, "one commit")
      if failure({ try tree.tree.find("Person/4.json") }) != nil { return "deleted" }
      #expect(try tree.tree.text("Person/4.json") != before)
      return "saved"
    }
  }

  private static let operations: [String: @Sendable (Subject) throws -> Void] = [
    "`write`, the text is not complete": { try $0.append($0.state.rest(to: .incomplete)) },
    "`write`, the text is complete and right": { try $0.append($0.state.rest(to: .complete)) },
    "`write`, the text is complete and wrong": { try $0.append($0.state.rest(to: .refused)) },
    "`truncate` to 0": { try $0.tree.resize($0.file, to: 0) },
    "`close` by the process that opened the file": { try $0.tree.tree.flush($0.file, by: WritableTree.me) },
    "`close` by another process": {
      try $0.tree.tree.flush($0.file, by: Caller(user: 0, group: 0, process: getppid()))
    },
    "`fsync`": { try $0.tree.tree.synchronize($0.file, by: WritableTree.me) },
    "the last `close` of all": { $0.tree.tree.release($0.file) },
    "`open` and `read` by another program": { subject in
      let text = try subject.tree.tree.text("Person/4.json")
      #expect(text.contains("\"age\": 2"))
    },
    "`rename` of another file onto the name": { subject in
      #expect(subject.tree.put("Person/other.tmp", #"{"age": 88}"#) == nil)
      try subject.tree.rename("Person/other.tmp", to: "Person/4.json")
    },
    "`rename` of the name to a scratch name": { try $0.tree.rename("Person/4.json", to: "Person/4.json.old") },
    "`unlink` of the name": { try $0.tree.unlink("Person/4.json") },
  ]

  /// The rows of the table: the operation, and a cell for each state.
  private static func rows() throws -> [(operation: String, cells: [String])] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../docs/SEMANTICS.md")
    let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n").map(String.init)
    let start = try #require(lines.firstIndex(of: "| operation | clean | incomplete | complete | refused |"))
    return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
      let cells = line.dropFirst().dropLast().split(separator: "|").map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      return (cells[0], Array(cells.dropFirst()))
    }
  }

  @Test("each operation in each state does what the table in SEMANTICS.md says")
  func table() throws {
    let rows = try Self.rows()
    #expect(Set(rows.map(\.operation)) == Set(Self.operations.keys))
    for (operation, cells) in rows {
      try #require(cells.count == State.allCases.count, "\(operation)")
      for (state, cell) in zip(State.allCases, cells) where cell != "cannot be" {
        let subject = try Subject(state), body = try #require(Self.operations[operation])
        let outcome = try subject.outcome(body)
        if operation == "the last `close` of all" {
          let isRefused = failure { try subject.tree.tree.find(".realm/rejected/Person/4.json") } == nil
          let shown = outcome == "ok" && isRefused && state != .refused ? "refused" : outcome
          #expect(shown == cell, "\(operation), \(state)")
        } else {
          let shown = "\(outcome), \(subject.now?.rawValue ?? "gone")"
          #expect(shown == cell, "\(operation), \(state)")
          subject.tree.tree.release(subject.file)
        }
        #expect(try subject.tree.problems().isEmpty)
      }
    }
  }
}
