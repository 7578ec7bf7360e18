// The progress of a long operation, shown only on a terminal: otherwise, standard error is reserved for errors.
import Glibc
import RealmPages

/// One line that is overwritten with each update.
final class ProgressLine {
  private let title: String
  private let isShown = isatty(STDERR_FILENO) == 1
  private let start = ContinuousClock.now
  private var lastShown = 0.0
  private var width = 0

  /// Creates an empty line. `title` describes the work.
  init(_ title: String) { self.title = title }

  /// Shows the progress of the work.
  func show(_ done: Int, of total: Int) {
    let time = (ContinuousClock.now - start) / .seconds(1)
    if isShown, time - lastShown >= 0.2, total > 0 {
      lastShown = time
      let rate = Double(done) / max(time, 0.001)
      let speed = rate >= 1e6 ? "\(Int(rate / 1e6)) MB/s" : "\(Int(rate / 1e3)) kB/s"
      let left = Int(Double(max(0, total - done)) / max(rate, 1)) + 1
      let estimate = done > 0 ? ", \(speed), \(left) s left" : ""
      write("\(title): \(min(100, done * 100 / total)) %\(estimate)")
    }
  }

  /// Removes the line.
  func end() {
    if width > 0 { write("") }
    width = 0
  }

  private func write(_ text: String) {
    let padding = String(repeating: " ", count: max(0, width - text.count))
    width = text.count
    // A failure to show progress is harmless.
    _ = StandardOutput.write(Array("\r\(text)\(padding)\(text.isEmpty ? "\r" : "")".utf8), to: STDERR_FILENO)
  }
}

extension ProgressLine {
  /// Runs `body` with a line of progress, and converts its error to a command failure. An interruption ends the
  /// program; a file being written does not have its final name yet, or is removed.
  static func during<R>(
    _ title: String,
    _ path: String,
    _ body: (@escaping CopyObserver) throws(EngineError) -> R
  ) throws -> R {
    let line = ProgressLine(title)
    let cleanup = Interruption.cleaning { NewFile.removeUnfinished() }
    Interruption.watch()
    defer { withExtendedLifetime(cleanup) {} }
    do {
      defer { line.end() }
      return try body { done, total in
        line.show(done, of: total)
        return true
      }
    } catch { throw CommandFailure(error, rewriting: path) }
  }
}
