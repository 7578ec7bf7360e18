// The reasons why a query can end early.

public import RealmPages

/// The reason why a query ended before evaluating all objects.
public enum QueryFailure: Error {
  /// The data that it read is damaged.
  case damaged(EngineError)
  /// It exceeds a limit on the work of one query.
  case refused(InputError)
  /// It reached its deadline, or was cancelled.
  case timedOut

  static func of<Result>(_ body: () throws -> Result) throws(QueryFailure) -> Result {
    do { return try body() } catch let error as EngineError { throw .damaged(error) } catch let error as InputError {
      throw .refused(error)
    } catch { throw .timedOut }
  }
}

/// Checks the deadline, and for cancellation, periodically.
struct QueryWork {
  private struct TimedOut: Error {}

  private let deadline: ContinuousClock.Instant?
  private let isCancelled: (() -> Bool)?
  private var steps = 0

  init(deadline: ContinuousClock.Instant?, isCancelled: (() -> Bool)? = nil) {
    (self.deadline, self.isCancelled) = (deadline, isCancelled)
  }

  /// Counts an evaluated object.
  @inline(__always)
  mutating func step() throws {
    steps &+= 1
    if steps & 0xFF == 0 { try check() }
  }

  private func check() throws {
    if let deadline, ContinuousClock.now >= deadline { throw TimedOut() }
    if isCancelled?() == true { throw TimedOut() }
  }
}
