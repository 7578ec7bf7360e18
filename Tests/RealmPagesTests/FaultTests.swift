// The disk is full, or fails, at the n-th call of a commit, for every n: an error reports it, the old version is
// intact, and the writer continues where that is safe.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Faults")
struct FaultTests {
  /// Ways to fail, each tried at every call.
  enum Kind: String, CaseIterable, Sendable {
    case error, shortWrite, fullDisk

    func fault(_ call: Int) -> FaultyStorage.Fault {
      switch self {
      case .error: FaultyStorage.Fault(call: call, code: EIO)
      case .shortWrite: FaultyStorage.Fault(call: call, code: ENOSPC, isShort: true)
      case .fullDisk: FaultyStorage.Fault(call: call, code: ENOSPC, lasts: true)
      }
    }
  }

  private static let shapes: [CommitShape] = [.first, .small, .growing, .conversion, .grouped, .synced]

  @Test("a failing system call causes an error and leaves the old version", arguments: shapes, Kind.allCases)
  func plain(shape: CommitShape, kind: Kind) throws { try check(shape, kind, key: nil) }

  @Test("the same holds for encrypted files, for failing system calls", arguments: shapes, Kind.allCases)
  func encrypted(shape: CommitShape, kind: Kind) throws { try check(shape, kind, key: Fixture.key()) }

  private func check(_ shape: CommitShape, _ kind: Kind, key: EncryptionKey?) throws {
    if shape == .conversion && key != nil { return }
    let temporary = try TemporaryFolder(), folder = temporary.url
    defer { temporary.remove() }
    let origin = folder.appendingPathComponent("origin.realm"), url = folder.appendingPathComponent("a.realm")
    switch shape {
    case .first: break
    case .conversion: try Data(try Fixture.named("streaming-form").bytes()).write(to: origin)
    default: try shape.prepare(RealmWriter(Configuration(path: origin.path, encryptionKey: key), create: true))
    }
    let configuration = Configuration(path: url.path, encryptionKey: key)
    var call = 0
    while true {
      try? FileManager.default.removeItem(at: url)  // there is none the first time
      if !shape.isFirst { try FileManager.default.copyItem(at: origin, to: url) }
      let old = shape.isFirst ? nil : try Contents(Realm(configuration).latest())
      let story: Comment = "\(shape), \(kind) at call \(call)"
      guard try fails(shape, configuration, kind.fault(call), old: old, story) else { break }
      call += 1
      if call > 2000 { throw EngineError.failed("2000 calls", url.path, 0) }
    }
    #expect(call > 5)
  }

  /// Commits with a fault; returns false if the fault did not occur.
  private func fails(
    _ shape: CommitShape,
    _ configuration: Configuration,
    _ fault: FaultyStorage.Fault,
    old: Contents?,
    _ story: Comment
  ) throws -> Bool {
    var made: FaultyStorage?
    let writer: RealmWriter
    do throws(EngineError) {
      writer = try RealmWriter(configuration, create: shape.isFirst) {
        let storage = FaultyStorage($0, fault: fault)
        made = storage
        return storage
      }
    } catch {
      // Opening fails already: the next attempt finds a sound file.
      #expect(made?.failedCall != nil, "\(story): \(error)")
      let writer = try RealmWriter(configuration, create: shape.isFirst)
      if let old { #expect(try Contents(writer.realm.latest()) == old, story) }
      try goesOn(writer, story)
      return true
    }
    guard let faulty = made else { return false }
    let before = try Contents(writer.realm.latest())
    do {
      try shape.act(writer)
      if faulty.failedCall == "pwrite", configuration.encryptionKey != nil {
        // The slots of an encrypted file are settled when everything is on disk; it does without.
        faulty.fault = nil
        try goesOn(writer, story)
        return true
      }
      #expect(faulty.failedCall == nil, "\(story): no error")
      return false
    } catch let error as EngineError {
      #expect(faulty.failedCall != nil && error.reason == .file(fault.code), "\(story): \(error)")
    }
    let isUncertain = faulty.failedCall == EngineError.syncCall
    // The content of the file for a program that finds no other participant.
    let file = Configuration(path: configuration.path, encryptionKey: configuration.encryptionKey, mode: .immutable)
    let after = try Contents(Realm(file).latest())
    if !isUncertain { #expect(after == before, story) }
    #expect(Verifier(try Realm(file).latest()).problems(limit: 3) == [], story)
    faulty.fault = nil
    if isUncertain {
      do throws(EngineError) {
        _ = try writer.begin()
        Issue.record("\(story): a transaction after a failed sync")
      } catch {
        #expect(error.reason == .poisoned, story)
      }
    } else {
      try goesOn(writer, story)
    }
    return true
  }

  private func goesOn(_ writer: RealmWriter, _ story: Comment) throws {
    let before = try writer.realm.latest().version
    try CommitShape.more(writer)
    let snapshot = try writer.realm.latest()
    #expect(snapshot.version == before + 1, story)
    #expect(Verifier(snapshot).problems(limit: 3) == [], story)
    // The file itself has the same content.
    let file = try Realm(writer.realm.configuration).latest()
    #expect(try Contents(file) == Contents(snapshot), story)
  }

  @Test("after a failed sync the realm can be opened again and written to")
  func reopening() throws {
    try withTemporaryFile(Fixture.named("people").bytes()) { path in
      defer { try? FileManager.default.removeItem(atPath: path + ".lock") }  // a leftover harms nobody
      try fail(path)
      try goesOn(RealmWriter(Configuration(path: path)), "reopened")
    }
  }

  private func fail(_ path: String) throws {
    var made: FaultyStorage?
    let writer = try RealmWriter(Configuration(path: path), create: false) {
      let storage = FaultyStorage($0)
      made = storage
      return storage
    }
    for call in 0..<100 where made?.failedCall != EngineError.syncCall {
      made?.fault = FaultyStorage.Fault(call: call, code: EIO)
      try? CommitShape.more(writer)  // one of them fails in a sync
    }
    #expect(made?.failedCall == EngineError.syncCall)
  }

  @Test("a commit that fails for lack of space truncates the file to its previous size")
  func growth() throws {
    try withTemporaryFile(Fixture.named("people").bytes()) { path in
      defer { try? FileManager.default.removeItem(atPath: path + ".lock") }  // a leftover harms nobody
      var made: FaultyStorage?
      let writer = try RealmWriter(Configuration(path: path), create: false) {
        let storage = FaultyStorage($0)
        made = storage
        return storage
      }
      let size = try writer.realm.fileStatus().size
      made?.fault = FaultyStorage.Fault(call: 2, code: ENOSPC, lasts: true)
      let transaction = try writer.begin()
      let table = try transaction.addTable("class_Large")
      let column = try transaction.addColumn(table, ColumnSpec("data", .data))
      for _ in 0..<20 {
        try transaction.set(table, transaction.create(table), column, .data([UInt8](repeating: 1, count: 100_000)))
      }
      do throws(EngineError) {
        _ = try transaction.commit()
        Issue.record("no error")
      } catch {
        #expect(error.reason == .file(ENOSPC))
      }
      let after = try writer.realm.fileStatus().size
      #expect(after == size)
      made?.fault = nil
      try goesOn(writer, "space was made")
    }
  }
}
