// Runs work on separate threads: work that waits for another thread must not wait for one of a pool.

import Foundation

/// Runs `body` on several threads at once, with the number of each thread, and waits for all of them.
public func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for number in 0..<count {
    let thread = Foundation.Thread {
      body(number); group.leave()
    }
    group.enter()
    thread.start()
  }
  group.wait()
}
