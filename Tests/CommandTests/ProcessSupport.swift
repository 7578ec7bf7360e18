// Runs the program as a user does: as a process, with its output and exit status.

import Foundation
import TestSupport

/// The places that the tests need.
enum Place {
  /// The root of the package.
  static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The program, which is built next to the tests.
  static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("realmfs")

  /// The path of a file among the fixtures.
  static func fixture(_ name: String) -> String { package.appendingPathComponent("Tests/Fixtures/" + name).path }

  /// The text of a file of the package.
  static func text(_ path: String) throws -> String {
    try String(contentsOf: package.appendingPathComponent(path), encoding: .utf8)
  }
}

/// The result of a process.
struct Outcome {
  let status: Int32
  let output: String
  let errors: String
}

/// Runs a program to its end; `input` is its standard input.
func run(_ program: URL, _ arguments: [String], input: Data = Data()) throws -> Outcome {
  let process = Process()
  process.executableURL = program
  process.arguments = arguments
  let temporary = try TemporaryFolder(), folder = temporary.url
  defer { temporary.remove() }
  // Files instead of pipes: no amount of output can block.
  func file(_ name: String, _ content: Data = Data()) throws -> FileHandle {
    try content.write(to: folder.appendingPathComponent(name))
    return try FileHandle(forUpdating: folder.appendingPathComponent(name))
  }
  process.standardInput = try file("input", input)
  process.standardOutput = try file("output")
  process.standardError = try file("errors")
  try process.run()
  process.waitUntilExit()
  func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
  }
  return Outcome(status: process.terminationStatus, output: try text("output"), errors: try text("errors"))
}

/// Runs `realmfs`.
func realmfs(_ arguments: String...) throws -> Outcome { try run(Place.program, arguments) }
