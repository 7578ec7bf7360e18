// How the work of a parser grows with its input: what takes time in proportion to the square of a text's length makes a
// program hang on a large one.

import Glibc

/// By what factor the processor time of `body` grows when its input becomes eight times as large: about 8 if it is in
/// proportion, 64 if it is to the square. `body` is given the size; the best of three runs counts.
public func growth(from size: Int, _ body: (Int) throws -> Void) rethrows -> Double {
  func time(_ size: Int) throws -> Double {
    var best = Double.infinity
    for _ in 0..<3 {
      let start = processorTime()
      try body(size)
      best = min(best, processorTime() - start)
    }
    return best
  }
  // Below a millisecond, what does not depend on the size counts most.
  return try time(8 * size) / max(time(size), 0.001)
}

/// Growth that no parser may pass.
public let largestGrowth = 24.0

/// Seconds of this thread.
private func processorTime() -> Double {
  var now = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
