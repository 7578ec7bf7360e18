// The progress of a long operation, on a terminal only: percentage, rate and time left, on one line that is overwritten
// and removed at the end.
import Glibc

/// A line of progress on standard error.
struct Progress {
  private let what: String
  private let isShown: Bool
  private let start = ContinuousClock.now
  private var nextTime = ContinuousClock.now + .seconds(0.5)
  private var isThere = false

  init(_ what: String) {
    self.what = what
    isShown = isatty(STDERR_FILENO) == 1
  }

  /// Shows the progress, unless the line was updated a moment ago.
  ///
  /// `total` is 0 if it is unknown.
  mutating func show(_ done: Int, of total: Int) {
    guard isShown, ContinuousClock.now >= nextTime else { return }
    nextTime = ContinuousClock.now + .seconds(0.2)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let rate = Double(done) / max(seconds, 0.001)
    var line = "\(what): \(done) objects, \(Int(rate)) a second"
    if total > 0, done > 0 {
      let left = Int(Double(max(0, total - done)) / max(rate, 1))
      line = "\(what): \(min(100, done * 100 / total)) %, \(Int(rate)) objects a second, \(left) s left"
    }
    write("\r\u{1B}[K" + line)
    isThere = true
  }

  /// Removes the line.
  mutating func clear() {
    if isThere { write("\r\u{1B}[K") }
    isThere = false
  }

  private func write(_ text: String) {
    // A failure to show progress is harmless.
    _ = StandardOutput.write(Array(text.utf8), to: STDERR_FILENO)
  }
}
