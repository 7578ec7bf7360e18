// `property=value`: the meaning of each form for each type. Tests/e2e/edit.sh sets every type of a real file.

import RealmPages
import Testing

@testable import RealmTransfer

@Suite("Assignments")
struct AssignmentTests {
  private func json(_ text: String, _ type: ValueType, _ collection: CollectionKind? = nil) throws -> String {
    let assignment = try #require(Assignment(text))
    let bytes = try assignment.json(of: type, isCollection: collection != nil, text: type)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("a name, = and any value; the first = separates them")
  func parts() throws {
    let assignment = try #require(Assignment("a=b=c"))
    #expect(assignment.property == "a" && assignment.value == "b=c")
    #expect(Assignment("a=")?.value.isEmpty == true)
    #expect(Assignment("=b") == nil && Assignment("ab") == nil && Assignment("") == nil)
  }

  @Test("null clears whatever the type is", arguments: [ValueType.int, .string, .date, .mixed, .link])
  func null(type: ValueType) throws { #expect(try json("a=null", type) == "null") }

  @Test("a text is used as it is", arguments: ["Rex", "true", "22", "[1]", "{x", "", " a", "\\", "犬"])
  func plainText(value: String) throws {
    let text = try json("a=" + value, .string)
    #expect(text == "\"" + value.replacing("\\", with: "\\\\") + "\"")
  }

  @Test("a text that begins with a quotation mark must be valid JSON")
  func quoted() throws {
    #expect(try json("a=\"null\"", .string) == "\"null\"")
    #expect(throws: TransferError.self) { try json("a=\"x\" y", .string) }
    #expect(throws: TransferError.self) { try json("a=\"", .date) }
  }

  @Test("numbers and collections are JSON; anything else becomes a string, which the type refuses")
  func other() throws {
    #expect(try json("a=22", .int) == "22")
    #expect(try json("a=yes", .bool) == "\"yes\"")
    #expect(try json("a=NaN", .double) == "{\"$numberDouble\":\"NaN\"}")
    #expect(try json("a=[1, 2]", .int, .list) == "[1, 2]")
    #expect(try json("a=x", .string, .list) == "\"x\"")
    #expect(throws: TransferError.self) { try json("a=[1", .int, .list) }
    #expect(throws: TransferError.self) { try json("a=hello", .mixed) }
    #expect(try json("a=\"hello\"", .mixed) == "\"hello\"")
  }
}
