// A realm for programs: opened without blocking a task, read in frozen versions, written in transactions, observed as a
// stream of versions. Work that may wait runs on threads of its own, never on those of Swift's tasks.

public import RealmPages
import Synchronization
import Threads

extension Realm {
  /// Opens a realm as `configuration` says, and makes it if it does not exist and is to be written to. Any task and
  /// actor may call this; it waits for seeds, compaction and migration without blocking them. `report` receives what
  /// was done before the realm was open.
  public static func open(
    _ configuration: Configuration,
    report: @escaping @Sendable (LaunchStep) -> Void = { _ in }
  ) async throws(EngineError) -> OpenRealm {
    try await Waiting.result { () throws(EngineError) in try OpenRealm(configuration, report: report) }
  }
}

/// An open realm. It can be used from any thread, task and actor at the same time.
public final class OpenRealm: Sendable {
  /// How the realm was opened.
  public let configuration: Configuration
  /// The engine's view of the realm.
  public let realm: Realm
  /// Nil for a realm that is only read.
  private let writer: RealmWriter?

  /// Opens a realm; `Realm.open` does the same without blocking the caller's thread.
  public init(
    _ configuration: Configuration,
    report: (LaunchStep) -> Void = { _ in }
  ) throws(EngineError) {
    self.configuration = configuration
    if configuration.isReadOnly || configuration.mode == .immutable {
      realm = try Realm(configuration)
      writer = nil
    } else {
      let writer = try RealmWriter.open(configuration, report: report)
      (realm, self.writer) = (writer.realm, writer)
    }
  }

  /// The newest version, which stays readable as long as the value lives, whatever is committed meanwhile. The file
  /// grows with each commit until it is let go. Of an immutable realm other programs do not know that it is read.
  public func freeze() throws(EngineError) -> FrozenRealm {
    FrozenRealm(try realm.hold(), configuration)
  }

  /// Changes the realm: everything that `body` does becomes visible and durable together, or, if it throws, nothing.
  /// Waits for other writers, on the caller's thread.
  public func write<R>(_ body: (borrowing ObjectTransaction) throws -> R) throws -> R {
    guard let writer else {
      throw EngineError(.readOnly, "\(configuration.path): the realm was opened for reading only")
    }
    let transaction = ObjectTransaction(try writer.beginOnThisThread(), configuration)
    let result = try body(transaction)
    try transaction.commit()
    return result
  }

  /// Changes the realm as `write(_:)` does, on a thread of its own, so that no task is blocked.
  public func write<R: Sendable>(
    _ body: @escaping @Sendable (borrowing ObjectTransaction) throws -> R
  ) async throws -> R {
    try await Waiting.result { () throws(any Error) in try self.write(body) }
  }

  /// The versions that come after the present one, by whatever program, each as soon as it is noticed. Who is slower
  /// than the writers gets the newest one next and misses those between. The stream ends when the realm cannot be read
  /// any more, or with its task.
  public func commits() throws(EngineError) -> AsyncStream<FrozenRealm> {
    let first = try freeze()
    return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let isOver = Flag()
      continuation.onTermination = { _ in isOver.set() }
      let thread = Thread { [self] in
        var known = first
        while !isOver.isSet {
          if !realm.waitForChange(since: known.snapshot, timeout: .milliseconds(250)) { continue }
          guard let next = try? freeze() else { break }  // the end of the stream says so
          if next.version == known.version { continue }
          known = next
          continuation.yield(next)
        }
        continuation.finish()
      }
      if let thread { thread.detach() } else { continuation.finish() }
    }
  }
}

/// Something that becomes true once.
private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}

/// Waiting outside of the threads that tasks share.
private enum Waiting {
  /// What `body` returns or throws, on a thread of its own.
  static func result<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
    let result: Result<R, E> = await withCheckedContinuation { continuation in
      let run: @Sendable () -> Void = {
        do throws(E) { continuation.resume(returning: .success(try body())) } catch {
          continuation.resume(returning: .failure(error))
        }
      }
      // Without a thread to be had, the caller waits.
      if let thread = Thread(run) { thread.detach() } else { run() }
    }
    return try result.get()
  }
}
