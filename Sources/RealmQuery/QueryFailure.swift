// What ends a query before it has asked all objects.

public import RealmPages

/// Why a query ended before it had asked all objects.
public enum QueryFailure: Error {
  /// What it read is damaged.
  case damaged(EngineError)
  /// It is more work than a query may be.
  case refused(QueryError)
  /// It took longer than it may.
  case timedOut

  static func of<Result>(_ body: () throws -> Result) throws(QueryFailure) -> Result {
    do { return try body() } catch let error as EngineError { throw .damaged(error) } catch let error as QueryError {
      throw .refused(error)
    } catch { throw .timedOut }
  }
}

/// Looks at the clock now and then.
struct QueryWork {
  private struct TimedOut: Error {}

  private let deadline: ContinuousClock.Instant?
  private var steps = 0

  init(deadline: ContinuousClock.Instant?) { self.deadline = deadline }

  /// Counts an object that is asked.
  @inline(__always)
  mutating func step() throws {
    steps &+= 1
    if steps & 0xFF == 0, let deadline, ContinuousClock.now >= deadline { throw TimedOut() }
  }
}
