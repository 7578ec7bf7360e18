// Measures how the work of a parser grows with its input: if it is proportional to the square of the input's length, a
// large input makes the program hang.

import Glibc

/// Returns the factor by which the processor time of `body` grows when its input becomes eight times as large: about 8
/// for linear work, 64 for quadratic work. `body` receives the size; the best of three runs counts.
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
  // Below a millisecond, costs that do not depend on the size dominate.
  return try time(8 * size) / max(time(size), 0.001)
}

/// The maximum growth allowed for a parser.
public let largestGrowth = 24.0

/// Returns the processor time of this thread in seconds.
private func processorTime() -> Double {
  var now = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}
