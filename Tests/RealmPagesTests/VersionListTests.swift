// The version list in the memory of a lock file, without a realm.

import TestSupport
import Testing
import Threads

@testable import RealmPages

@Suite("Version list")
struct VersionListTests {
  private func withLists(_ body: (VersionList, VersionList) throws -> Void) throws {
    try withTemporaryPath { path in
      let configuration = Configuration(path: path)
      let deadline = MonotonicTime.now.advanced(by: .seconds(600))
      let first = try LockFile(configuration, deadline: deadline),
        second = try LockFile(configuration, deadline: deadline)
      try body(VersionList(first), VersionList(second))
    }
  }

  private func begin(_ list: VersionList, _ version: UInt64) throws {
    try list.reset(ListedVersion(slot: 0, version: version, topRef: 24, logicalSize: 4096))
  }

  private func add(_ list: VersionList, _ version: UInt64) throws {
    _ = try list.purge()
    try list.add(version: version, topRef: Int(version) * 24, logicalSize: 4096)
  }

  @Test("a new session keeps no version of the previous one, whoever pinned it")
  func reset() throws {
    try withLists { list, other in
      try begin(list, 1)
      for version in 2...5 as ClosedRange<UInt64> {
        _ = try other.pinNewest()
        try add(list, version)
      }
      #expect(try list.purge().count == 5)
      try begin(list, 9)
      let left = try list.purge()
      #expect((left.count, left.oldest) == (1, 9))
    }
  }

  @Test("a participant that leaves releases all its versions")
  func close() throws {
    try withLists { list, other in
      try begin(list, 1)
      for version in 2...5 as ClosedRange<UInt64> {
        _ = try other.pinNewest()
        try add(list, version)
      }
      other.close()
      let left = try list.purge()
      #expect((left.count, left.oldest) == (1, 5))
    }
  }

  @Test("an abandoned version stays pinned after its participant has left")
  func abandon() throws {
    try withLists { list, other in
      try begin(list, 1)
      other.abandon(try other.pinNewest().slot)
      try add(list, 2)
      other.close()
      #expect(try list.purge().oldest == 1)
    }
  }
}
