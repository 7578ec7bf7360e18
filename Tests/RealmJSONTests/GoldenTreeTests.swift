// Whole realm files against the trees that the real engine shows, and the layout against jq.

import Foundation
import RealmJSON
import RealmPages
import TestSupport
import Testing

@Suite("golden trees")
struct GoldenTreeTests {
  @Test("every object matches the output of the reference engine", arguments: FixtureTree.made)
  func madeFiles(_ fixture: FixtureTree) throws { try compare(fixture) }

  @Test(
    "every object of an older file matches the reference engine's output after its upgrade",
    .enabled(if: !FixtureTree.sdk.isEmpty, FixtureTree.whereSDKFilesAre),
    arguments: FixtureTree.sdk
  )
  func sdkFiles(_ fixture: FixtureTree) throws { try compare(fixture) }

  @Test("every object of a file of formats 2 to 10 matches the output of old engines", arguments: FixtureTree.legacy)
  func legacyFiles(_ fixture: FixtureTree) throws { try compare(fixture) }

  private func compare(_ fixture: FixtureTree) throws { try fixture.compare(with: fixture.snapshot()) }

  @Test("an object read by key equals that of a scan", arguments: FixtureTree.made)
  func byKey(_ fixture: FixtureTree) throws {
    let snapshot = try fixture.snapshot()
    let (scan, random) = (ObjectRenderer(snapshot), ObjectRenderer(snapshot))
    let (scanned, found) = (OutputBuffer(), OutputBuffer())
    for table in try topLevelClasses(of: snapshot) {
      let cursor = ObjectCursor(table)
      var count = 0
      while count < 300, try cursor.next() {
        count += 1
        scanned.reset()
        found.reset()
        try scan.render(cursor, layout: .pretty, into: scanned)
        let isFound = try random.render(table, cursor.key, layout: .pretty, into: found)
        if !isFound || scanned.bytes != found.bytes { Issue.record("\(table.name)/\(cursor.key) differs") }
      }
      found.reset()
      #expect(try !random.render(table, ObjKey(.max), layout: .pretty, into: found))
      #expect(try !random.render(table, ObjKey(-5), layout: .pretty, into: found))
      #expect(found.count == 0)
    }
  }

  @Test(
    "jq does not change the text",
    .enabled(if: FileManager.default.isExecutableFile(atPath: jq), "jq is not there"),
    arguments: FixtureTree.made,
    JSONStyle.allCases
  )
  func jqLayout(_ fixture: FixtureTree, style: JSONStyle) throws {
    let snapshot = try fixture.snapshot()
    let renderer = ObjectRenderer(snapshot, style: style)
    let out = OutputBuffer()
    for table in try topLevelClasses(of: snapshot) {
      let cursor = ObjectCursor(table)
      var count = 0
      while count < 300, try cursor.next() {
        count += 1
        let start = out.count
        try renderer.render(cursor, layout: .pretty, into: out)
        // jq rewrites real numbers in its own manner.
        if hasRealNumber(out.bytes[start...]) { out.truncate(to: start) }
      }
    }
    #expect(try runJQ(["."], on: out.bytes) == Data(out.bytes))
  }

  @Test("the compact layout is that of jq -c", .enabled(if: FileManager.default.isExecutableFile(atPath: jq)))
  func compactLayout() throws {
    let snapshot = try FixtureTree.named("all-types").snapshot()
    let renderer = ObjectRenderer(snapshot, style: .canonical)
    let out = OutputBuffer()
    for table in try topLevelClasses(of: snapshot) {
      let cursor = ObjectCursor(table)
      while try cursor.next() { try renderer.render(cursor, layout: .compact, into: out) }
    }
    #expect(try runJQ(["-c", "."], on: out.bytes) == Data(out.bytes))
  }
}

private let jq = "/usr/bin/jq"

/// True if a number with a point or an exponent is outside of strings.
private func hasRealNumber(_ json: ArraySlice<UInt8>) -> Bool {
  var inString = false
  var isEscaped = false
  var previous: UInt8 = 0
  for byte in json {
    if inString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        inString = false
      }
    } else if byte == UInt8(ascii: "\"") {
      inString = true
    } else if byte == UInt8(ascii: ".")
      || previous == UInt8(ascii: "e") && (byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-"))
    {
      return true
    }
    previous = byte
  }
  return false
}

private func runJQ(_ arguments: [String], on input: [UInt8]) throws -> Data {
  let temporary = try TemporaryFolder(), folder = temporary.url
  defer { temporary.remove() }
  let (source, result) = (folder.appendingPathComponent("in"), folder.appendingPathComponent("out"))
  try Data(input).write(to: source)
  try Data().write(to: result)
  let process = Process()
  process.executableURL = URL(fileURLWithPath: jq)
  process.arguments = arguments
  process.standardInput = try FileHandle(forReadingFrom: source)
  process.standardOutput = try FileHandle(forWritingTo: result)
  try process.run()
  process.waitUntilExit()
  return try Data(contentsOf: result)
}
