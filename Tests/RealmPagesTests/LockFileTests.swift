// The lock file while a session begins.

import CLinux
import Foundation
import TestSupport
import Testing
import Threads

@testable import RealmPages

@Suite("Lock file")
struct LockFileTests {
  @Test("the state of the previous session is not used when a new one could not be initialized")
  func failedBeginning() throws {
    try withTemporaryPath { path in
      let configuration = Configuration(path: path)
      let session = try LockFile(configuration, deadline: MonotonicTime.now.advanced(by: .seconds(600)))
      let isComplete = unsafe clinux_init_complete(session.info)
      #expect(unsafe clinux_load_8(isComplete) == 1)
      // A read-only descriptor cannot truncate it.
      let reading = open(session.path, O_RDONLY | O_CLOEXEC)
      try #require(reading >= 0)
      defer { close(reading) }
      #expect(unsafe LockFile.initialise(reading, session.info) == EINVAL)
      #expect(unsafe clinux_load_8(isComplete) == 0)
    }
  }
}
