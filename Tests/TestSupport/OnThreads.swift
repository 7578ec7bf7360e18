// Work on threads of its own: what waits for another thread must not wait for one of a pool.

import Foundation

/// Runs `body` on several threads at once, with the number of each, and waits for all.
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
