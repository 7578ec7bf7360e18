// Two programs with one realm: each sees the commits of the other, and a killed one leaves complete versions.

import Foundation
import Glibc
import RealmSwift
import TestSupport
import Testing

@testable import ObserveLoop

/// A running ObserveLoop.
private final class Peer {
  /// Its last line.
  static let end = "end"

  let process = Process()
  private let output = Pipe()
  private let told = Told()

  init(_ path: String, _ arguments: String...) throws {
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("ObserveLoop")
    process.arguments = [path] + arguments
    process.standardOutput = output
    let told = told
    nonisolated(unsafe) var rest = Data()
    output.fileHandleForReading.readabilityHandler = { handle in
      let data = handle.availableData
      if data.isEmpty {
        handle.readabilityHandler = nil
        return told.say(Peer.end)
      }
      rest += data
      while let end = rest.firstIndex(of: 10) {
        told.say(String(decoding: rest[..<end], as: UTF8.self))
        rest = Data(rest[(end + 1)...])
      }
    }
    try process.run()
  }

  deinit {
    output.fileHandleForReading.readabilityHandler = nil
    kill()
  }

  /// Its next line.
  func next() -> String? { told.next() }

  func kill() {
    if process.isRunning { _ = Glibc.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }
}

@Suite struct ProcessTests {
  private let folder: RealmFolder
  private let configuration: Realm.Configuration

  init() throws {
    folder = try RealmFolder()
    configuration = folder.configuration(Counter.self, Note.self)
  }

  @Test("another program is notified of this one's commits, to objects and collections", .timeLimit(.minutes(10)))
  func observed() throws {
    let realm = try Realm(configuration: configuration)
    let counter = try realm.write { realm.create(Counter.self) }
    let peer = try Peer(folder.url().path, "observe")
    #expect(peer.next() == "notes 0")
    try realm.write { for round in 1...3 { realm.add(Note(value: [round, "a"])) } }
    #expect(peer.next() == "notes 3 -0 +3")
    try realm.write { counter.value = 7 }
    #expect(peer.next() == "counter 7 value")
    try realm.write {
      realm.delete(realm.objects(Note.self).where { $0.round == 2 })
      counter.notes = 2
    }
    let lines = [peer.next(), peer.next()]
    #expect(lines.contains("notes 2 -1 +0") && lines.contains("counter 7 notes"))
    try realm.write { realm.delete(counter) }
    #expect(peer.next() == "deleted")
  }

  @Test("this program is notified of the commits of another one, which is killed while committing")
  func killed() throws {
    let configuration = configuration, queue = DispatchQueue(label: "observer"), told = Told()
    let realm = try Realm(configuration: configuration)
    let token = realm.objects(Counter.self).observe(on: queue) { counters in
      if case .update(let counters, _, _, _) = counters, let counter = counters.first { told.say("\(counter.value)") }
    }
    for _ in 0..<(ProcessInfo.processInfo.environment["KILLS"].flatMap { Int($0) } ?? 5) {
      let before = Int(told.all.last ?? "") ?? 0
      let peer = try Peer(folder.url().path, "write", "1000000")
      // The observer has seen commits of this writer, and it is still writing.
      let limit = before + Int.random(in: 3...40)
      var seen = before, promised = 0
      while seen < limit, let line = told.next() { seen = Int(line) ?? 0 }
      #expect(seen >= limit)
      while promised < limit, let line = peer.next() { promised = Int(line) ?? 0 }
      peer.kill()
      while let line = peer.next(), line != Peer.end { promised = Int(line) ?? promised }
      realm.refresh()
      let counter = try #require(realm.objects(Counter.self).first)
      // All acknowledged commits are there, and a version has all of a commit or nothing.
      #expect(counter.value >= promised && counter.notes == realm.objects(Note.self).count)
      #expect(realm.objects(Note.self).max(of: \.round) == counter.value)
      #expect(try folder.problems() == [])
      do { try realm.write { counter.notes = realm.objects(Note.self).count } } catch {
        // A writer that is killed at the instant when it announces its commit ends all writing until every program
        // has closed the realm: docs/format/5-coordination.md. Any other error is a failure.
        guard "\(error)".contains("a program died while it announced a commit") else { throw error }
        break
      }
    }
    token.invalidate()
  }
}
