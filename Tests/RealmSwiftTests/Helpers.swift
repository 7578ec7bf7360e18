// Support for several suites.

import Foundation
import RealmSwift
import Synchronization
import Testing

/// Runs `body` on a new thread and waits for it.
func onAnotherThread(_ body: @escaping () throws -> Void) throws {
  nonisolated(unsafe) let body = body
  let failure = Mutex<(any Error)?>(nil), done = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    do { try body() } catch { failure.withLock { $0 = error } }
    done.signal()
  }
  done.wait()
  if let error = failure.withLock({ $0 }) { throw error }
}

/// Runs `body` in a separate scope, after which its realms are closed.
func autoreleased(_ body: () throws -> Void) throws { try body() }
