// The lock of a mirror, among processes and within one.

import Foundation
import TestSupport
import Testing

@testable import RealmSync

@Suite("Locks of mirrors")
struct MirrorLockTests {
  private let temporary: TemporaryFolder
  private var realm: String { temporary.path("a.realm") }

  init() throws { temporary = try TemporaryFolder() }

  @Test("opening a mirror waits for a session of this process that is ending")
  func ending() throws {
    var first: MirrorLock? = try MirrorLock(realm: realm)
    #expect(first != nil)
    let box = Held(first)
    first = nil
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: 0.2)
      box.lock = nil
    }
    #expect(throws: Never.self) { try MirrorLock(realm: realm) }
  }

  @Test("a mirror with a running session, in this process or another, is refused")
  func goingOn() throws {
    do {
      let first = try MirrorLock(realm: realm)
      let error = #expect(throws: SyncError.self) { try MirrorLock(realm: realm) }
      #expect(error?.description.contains("this process keeps the mirror") ?? false)
      withExtendedLifetime(first) {}
    }
    let other = Process(), output = Pipe()
    other.executableURL = URL(fileURLWithPath: "/bin/sh")
    other.arguments = ["-c", "exec 9>'\(realm).management/realmfs-sync.lock'; flock -n 9 && echo && exec sleep 60"]
    other.standardOutput = output
    try other.run()
    defer { other.terminate() }
    #expect(output.fileHandleForReading.readData(ofLength: 1).count == 1)
    let error = #expect(throws: SyncError.self) { try MirrorLock(realm: realm) }
    #expect(error?.description.contains("another process keeps the mirror") ?? false)
  }

  /// A lock that another thread releases.
  private final class Held: @unchecked Sendable {
    // Unchecked: the other thread alone uses it.
    var lock: MirrorLock?
    init(_ lock: MirrorLock?) { self.lock = lock }
  }
}
