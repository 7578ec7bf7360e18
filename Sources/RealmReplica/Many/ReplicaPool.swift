// Replicates many realms: a scanner finds changed files, and workers, each with its own connection, update their
// replicas. A realm is open only while a worker reads it, so neither memory nor descriptors grow with the number of
// realms.

import Glibc
public import RealmPages
import Threads

/// Replicates the realms of many files.
///
/// Invariant: the state guarded by `monitor` is accessed only with its lock held. The entry of a file that a worker has
/// taken belongs to the worker until it returns the entry.
public final class ReplicaPool: @unchecked Sendable {
  // Unchecked: `monitor` guards all mutable state.

  /// Statistics of a pool.
  public struct Progress: Sendable {
    /// The number of realms that exist, that wait, and that currently cannot be replicated.
    public var realms = 0, waiting = 0, failed = 0
    /// The number of passes and rows since the start.
    public var passes = 0, written = 0, removed = 0
    /// The number of damaged objects that were omitted.
    public var damaged = 0
  }

  private final class Entry {
    let file: ReplicatedFile
    var signature: FileSignature?
    var isBusy = false
    /// The time of the next attempt, whether or not the file changes.
    var again: MonotonicTime?
    var failure: String?
    var isGone = false
    /// True if it was replicated since the pool started.
    var hasPassed = false

    init(_ file: ReplicatedFile) { self.file = file }
  }

  private let files: RealmFileSet
  private let address: PostgresAddress
  private let schema: String
  private let partition: ReplicaPlace.Partition?
  private let open: @Sendable (String) throws -> Realm
  private let monitor = Monitor()
  private var entries: [ExactName: Entry] = [:]
  private var owners: [ExactName: ExactName] = [:]
  private var queue: [Entry] = []
  private var queueStart = 0
  private var busy = 0
  private var progress = Progress()
  private var isEnding = false
  private var connectionFailure: String?
  private var round = 0
  private var isOnce = false

  /// Receives messages for the user.
  public var onMessage: @Sendable (String) -> Void = { _ in }
  /// Receives the result of each pass, with the path of the file.
  public var onPass: @Sendable (String, ReplicaPass) -> Void = { _, _ in }
  /// True if the first pass of each realm follows its file even if the replica loses data.
  public var acceptsReplacement = false
  /// True if the first pass of each realm compares all rows.
  public var wantsComparison = false
  /// Called while waiting for a server; returning true ends the work.
  public var shouldStop: @Sendable () -> Bool = { false }

  /// Prepares a pool; `open` opens the realm at a path.
  public init(
    _ files: RealmFileSet,
    _ address: PostgresAddress,
    schema: String,
    partition: ReplicaPlace.Partition?,
    open: @escaping @Sendable (String) throws -> Realm
  ) {
    (self.files, self.address, self.schema, self.partition, self.open) = (files, address, schema, partition, open)
  }

  /// The statistics since the start.
  public var state: Progress {
    monitor.locked {
      var state = progress
      state.realms = entries.count
      state.waiting = queue.count - queueStart + busy
      state.failed = entries.values.count { $0.failure != nil }
      return state
    }
  }

  /// Replicates until `isStopping` returns true, or once.
  public func run(
    connections: Int,
    once: Bool,
    isStopping: () -> Bool,
    everySecond: () -> Void
  ) throws {
    // Report problems that affect all workers immediately.
    let place = ReplicaPlace(schema: schema, realm: "", partition: partition)
    try Catalog.prepare(place, try PostgresConnection(address) {})
    isOnce = once
    var threads: [Thread] = []
    for _ in 0..<connections {
      guard let thread = Thread({ self.work() }) else { throw ReplicaError.unsuitable("cannot start another thread") }
      threads.append(thread)
    }
    var found = MonotonicTime(nanoseconds: 0), reported = MonotonicTime.now
    while !isStopping() {
      let now = MonotonicTime.now
      if now.nanoseconds - found.nanoseconds > 2_000_000_000 {
        find()
        found = now
      }
      scan()
      if now.nanoseconds - reported.nanoseconds > 1_000_000_000 {
        everySecond()
        reported = now
      }
      if once, monitor.locked({ isDone }) { break }
      let spent = MonotonicTime.now.nanoseconds - now.nanoseconds
      let pause = max(250_000_000 - spent, spent, 20_000_000)
      usleep(useconds_t(min(pause, 2_000_000_000) / 1000))
    }
    monitor.locked {
      isEnding = true
      monitor.wakeAll()
    }
    for thread in threads { thread.join() }
    everySecond()
  }

  /// True if nothing waits and no retry is due soon.
  private var isDone: Bool {
    queueStart == queue.count && busy == 0 && !entries.values.contains { $0.again != nil && $0.failure == nil }
  }

  // MARK: files

  /// Adds new files, and marks files that were removed.
  private func find() {
    let (found, unnamed) = files.find()
    var messages: [String] = []
    monitor.locked {
      var present: Set<ExactName> = []
      for file in found {
        let path = ExactName(file.path), realm = ExactName(file.realm)
        present.insert(path)
        if let known = owners[realm], known != path {
          let owner = known.text
          if entries[path] == nil { messages.append("\(file.path): \(owner) is the realm \(file.realm) already") }
          let entry = entries[path] ?? Entry(file)
          entry.failure = "another file is this realm"
          entries[path] = entry
          continue
        }
        owners[realm] = path
        if let known = entries[path] {
          if known.isGone { known.signature = nil }
          known.isGone = false
        } else {
          entries[path] = Entry(file)
        }
      }
      for path in unnamed where entries[ExactName(path)] == nil {
        let entry = Entry(ReplicatedFile(path: path, realm: ""))
        entry.failure = "the pattern of --source-of does not fit"
        entries[ExactName(path)] = entry
        messages.append("\(path): the pattern of --source-of does not fit, so its realm has no name")
      }
      for (path, entry) in entries where !present.contains(path) && !entry.isGone && !entry.file.realm.isEmpty {
        let realm = ExactName(entry.file.realm)
        if owners[realm] == path { owners[realm] = nil } else { entries[path] = nil }
        entry.isGone = true
        enqueue(entry)
      }
      monitor.wakeAll()
    }
    for message in messages { onMessage(message) }
  }

  /// Queues the files that changed.
  private func scan() {
    let all = monitor.locked {
      entries.values.filter { !$0.isBusy && !$0.isGone && owners[ExactName($0.file.realm)] == ExactName($0.file.path) }
    }
    round += 1
    var changed: [Entry] = []
    for (index, entry) in all.enumerated() {
      if let again = entry.again {
        if again.milliseconds == 0 { changed.append(entry) }
        continue
      }
      guard let known = entry.signature else {
        changed.append(entry)
        continue
      }
      // The head of each file is read every two seconds.
      guard let signature = FileSignature(entry.file.path, readsHead: (index + round) & 7 == 0) else { continue }
      if signature.differs(from: known) { changed.append(entry) }
    }
    if changed.isEmpty { return }
    monitor.locked {
      for entry in changed where !entry.isBusy { enqueue(entry) }
      monitor.wakeAll()
    }
  }

  private func enqueue(_ entry: Entry) {
    if entry.isBusy { return }
    entry.isBusy = true
    queue.append(entry)
  }

  // MARK: workers

  private func take() -> Entry? {
    monitor.locked {
      while queueStart == queue.count, !isEnding { monitor.wait(until: .now.advanced(by: .seconds(1))) }
      if isEnding { return nil }
      let entry = queue[queueStart]
      queueStart += 1
      if queueStart > 1024, queueStart * 2 > queue.count {
        queue.removeFirst(queueStart)
        queueStart = 0
      }
      busy += 1
      return entry
    }
  }

  private func work() {
    var connection: PostgresConnection?, pause: Int64 = 200
    while let entry = take() {
      let signature = FileSignature(entry.file.path, readsHead: true), wasGone = monitor.locked { entry.isGone }
      var again: MonotonicTime?, failure: String?, passes: [ReplicaPass] = []
      var complaints: [String] = []
      do {
        let current: PostgresConnection
        if let connection {
          current = connection
        } else {
          current = try PostgresConnection(address) {
            if self.shouldStop() { throw ReplicaError.stopped }
          }
        }
        connection = current
        current.onWait = { if self.shouldStop() { throw ReplicaError.stopped } }
        passes = try replicate(entry, &connection, &complaints)
        pause = 200
        note(connectionFailure: nil)
        if let signature, signature.isRecent, !isOnce { again = .now.advanced(by: .milliseconds(100)) }
      } catch {
        switch error {
        case ReplicaError.stopped:
          again = .now
          connection = nil
        case ReplicaError.overtaken: again = .now.advanced(by: .milliseconds(200))
        case let error as ReplicaError where error.isTemporary:
          note(connectionFailure: error.description)
          connection = nil
          rest(pause)
          pause = min(pause * 2, 15_000)
          again = .now
        default:
          failure = "\(error)"
          again = .now.advanced(by: .seconds(60))
          connection = fail(entry, "\(error)", connection)
        }
      }
      for complaint in complaints.prefix(20) { onMessage("\(entry.file.path): \(complaint)") }
      if let failure, failure != entry.failure {
        onMessage(failure.hasPrefix(entry.file.path) ? failure : "\(entry.file.path): \(failure)")
      }
      for pass in passes {
        for remark in pass.remarks { onMessage("\(entry.file.path): \(remark)") }
        onPass(entry.file.path, pass)
      }
      monitor.locked {
        entry.failure = failure
        entry.again = again
        entry.signature = signature
        entry.isBusy = false
        busy -= 1
        progress.passes += passes.count
        for pass in passes {
          progress.written += pass.written
          progress.removed += pass.removed
          progress.damaged += pass.damaged
        }
        if entry.isGone, wasGone, again == nil { entries[ExactName(entry.file.path)] = nil }
        // Queue the entry again if its file was removed in the meantime, or if recording the removal must be retried.
        if entry.isGone, !wasGone || again != nil { enqueue(entry) }
      }
    }
  }

  private func place(_ entry: Entry) -> ReplicaPlace {
    ReplicaPlace(schema: schema, realm: entry.file.realm, partition: partition)
  }

  private func replicate(
    _ entry: Entry,
    _ kept: inout PostgresConnection?,
    _ complaints: inout [String]
  ) throws -> [ReplicaPass] {
    guard let connection = kept else { return [] }
    let place = place(entry)
    if monitor.locked({ entry.isGone }) {
      try ReplicaState.write(place, file: entry.file.path, state: "gone", reason: nil, connection)
      return []
    }
    let realm = try open(entry.file.path)
    let replicator = try Replicator(realm, place, address, connection)
    replicator.shouldStop = shouldStop
    if !entry.hasPassed {
      (replicator.acceptsReplacement, replicator.wantsComparison) = (acceptsReplacement, wantsComparison)
    }
    var texts: [String] = []
    replicator.onComplaint = { texts.append($0) }
    defer {
      complaints = texts
      kept = replicator.isBroken ? nil : replicator.connection
    }
    var passes: [ReplicaPass] = []
    for _ in 0..<8 {
      do {
        if let pass = try replicator.run() { passes.append(pass) }
        entry.hasPassed = true
        return passes
      } catch ReplicaError.overtaken {
        // The window has moved on: start again.
      }
    }
    throw ReplicaError.overtaken
  }

  /// Records the reason that a realm cannot be replicated; returns the connection if it is still usable.
  private func fail(_ entry: Entry, _ reason: String, _ kept: PostgresConnection?) -> PostgresConnection? {
    do {
      let connection: PostgresConnection
      if let kept {
        connection = kept
      } else {
        connection = try PostgresConnection(address) {}
      }
      try ReplicaState.write(place(entry), file: entry.file.path, state: "failed", reason: reason, connection)
      return connection
    } catch { return nil }
  }

  private func note(connectionFailure text: String?) {
    let isNew = monitor.locked {
      defer { connectionFailure = text }
      return connectionFailure != text
    }
    guard isNew else { return }
    onMessage(text.map { "\($0); the replica waits" } ?? "rewriting the replica")
  }

  private func rest(_ milliseconds: Int64) {
    let deadline = MonotonicTime.now.advanced(by: .milliseconds(milliseconds))
    while deadline.milliseconds > 0, !shouldStop(), !monitor.locked({ isEnding }) {
      usleep(useconds_t(min(deadline.milliseconds, 100) * 1000))
    }
  }
}
