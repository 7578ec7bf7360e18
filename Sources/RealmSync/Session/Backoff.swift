// The delays between a client's attempts to connect. Source: docs/format/7-sync.md 7.5.

/// A series of delays that double up to five minutes, each shortened by a random fraction of up to a quarter.
struct Backoff {
  private let first: Duration
  private var next: Duration
  private static let longest = Duration.seconds(300)

  init(first: Duration) { (self.first, next) = (first, first) }

  /// Returns the next delay.
  mutating func wait() -> Duration {
    let full = next
    next = min(next * 2, Self.longest)
    return full - full / 4 * Double.random(in: 0..<1)
  }

  /// Restarts the series, after a success.
  mutating func reset() { next = first }
}
