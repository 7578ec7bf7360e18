// Notifies the kernel of cached names and attributes that a new version makes stale. It runs on a separate thread: the
// kernel may delay a notification until a request is answered, so no request may wait for a notification.
//
// While the kernel may have cached entries, the thread checks the realm every 20 ms; otherwise it sleeps.

import FileTree
import Synchronization
import Threads

/// Notifies the kernel of changes.
final class Notifier: @unchecked Sendable {
  // Unchecked: variables are accessed under the monitor's lock, or only by the notifier's thread (`supportsEpochs`,
  // `namesAreDue`), or only before that thread starts and after it ends (`thread`).
  private let tree: FileTree
  private let kernel: KernelCache
  private let changes: ChangeReader
  private let monitor = Monitor()
  private var thread: Thread?

  private var isStopping = false
  private var hasStopped = false
  private var mayHaveChanged = false
  /// True while the kernel is assumed to support invalidating all names at once.
  private var supportsEpochs = true
  /// When to invalidate all names, because replies with attributes may have been in flight while objects changed; and
  /// true if more objects have changed since that time was set.
  private var namesAreDue: MonotonicTime?, hasChangedSince = false

  private let lastCacheableReply = Atomic<Int64>(0)
  private let isAsleep = Atomic<Bool>(false)
  /// The time of the last notification.
  private let lastAnnouncement = Atomic<Int64>(0)

  private static let pollInterval = Duration.milliseconds(20)
  /// Slightly longer than the kernel's cache timeouts: after this time nothing that it cached before is valid.
  private static let memory = Int64((max(Bridge.entryTimeout, Bridge.attributeTimeout) + 1) * 1e9)
  /// The delay before a notification is repeated, for replies that were in flight during the first one.
  private static let echoDelay = Duration.milliseconds(200)

  init(_ tree: FileTree, _ kernel: KernelCache) throws(FileTreeError) {
    self.tree = tree
    self.kernel = kernel
    changes = try tree.changeReader()
  }

  /// Starts the thread. Returns false if no thread can be created.
  func start() -> Bool {
    tree.observeVersions { [weak self] in self?.noteVersion(namesStay: $0) }
    tree.dentryInvalidations.observe { [weak self] in self?.wake { $0.mayHaveChanged = true } }
    thread = Thread { [self] in run() }
    return thread != nil
  }

  /// Requests that the thread end.
  func stop() { wake { $0.isStopping = true } }

  /// True if the thread has ended or never ran.
  var isStopped: Bool { thread == nil || monitor.locked { hasStopped } }

  /// Waits until the thread has ended.
  func join() {
    thread?.join()
    thread = nil
  }

  /// Records that a cacheable reply is about to be sent.
  func noteCacheableReply() {
    let now = MonotonicTime.coarse.nanoseconds
    // The time is accurate to 250 ms. Sequential consistency pairs with `sleep`: either this function sees that the
    // thread is asleep, or the thread sees the new time.
    if now - lastCacheableReply.load(ordering: .relaxed) < 250_000_000 { return }
    lastCacheableReply.store(now, ordering: .sequentiallyConsistent)
    if isAsleep.load(ordering: .sequentiallyConsistent) { wake { _ in } }
  }

  /// Requests notification of a new version. It is sent at once, unless another was sent within the last poll interval
  /// and only objects changed; in that case, it waits for the next poll. Otherwise the kernel would request the same
  /// attributes after each save of a program that saves many files.
  private func noteVersion(namesStay: Bool) {
    let next = MonotonicTime(nanoseconds: lastAnnouncement.load(ordering: .relaxed)).advanced(by: Self.pollInterval)
    if namesStay, MonotonicTime.now < next, !tree.hasChangingNames { return }
    wake { $0.mayHaveChanged = true }
  }

  private func wake(_ change: (Notifier) -> Void) {
    monitor.locked {
      change(self)
      monitor.wakeAll()
    }
  }

  // MARK: the thread

  private func run() {
    var echo: (change: TreeChange, time: MonotonicTime)?
    while sleep(hasEcho: echo != nil || namesAreDue != nil) {
      if let due = echo, MonotonicTime.now >= due.time {
        announce(due.change)
        echo = nil
      }
      if let due = namesAreDue, MonotonicTime.now >= due {
        namesAreDue = hasChangedSince ? .now.advanced(by: Self.echoDelay) : nil
        hasChangedSince = false
        _ = kernel.forgetNames()
      }
      for (directory, name) in tree.dentryInvalidations.take() { kernel.forgetName(name, in: directory) }
      // An error means only that the realm cannot be read now; retry at the next poll.
      if let change = try? tree.nextChange(changes) {
        announce(change)
        if !supportsEpochs { echo = (change, MonotonicTime.now.advanced(by: Self.echoDelay)) }
      }
    }
    monitor.locked {
      hasStopped = true
      monitor.wakeAll()
    }
  }

  /// Sleeps until a new version is reported or the poll interval has passed. Waits without a time limit if the kernel
  /// cannot have anything cached. Returns false if the thread must end.
  private func sleep(hasEcho: Bool) -> Bool {
    monitor.locked {
      if !mayHaveChanged && !isStopping {
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        let sinceReply = MonotonicTime.coarse.nanoseconds - lastCacheableReply.load(ordering: .sequentiallyConsistent)
        let mustPoll = sinceReply < Self.memory || hasEcho
        monitor.wait(until: mustPoll ? MonotonicTime.now.advanced(by: Self.pollInterval) : nil)
        isAsleep.store(false, ordering: .sequentiallyConsistent)
      }
      mayHaveChanged = false
      return !isStopping
    }
  }

  /// Notifies the kernel of a change. Does not invalidate cached texts: an open handle keeps the text it was opened
  /// with, and each new handle decides whether the cached text is still valid.
  private func announce(_ change: TreeChange) {
    lastAnnouncement.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
    if supportsEpochs {
      if change.namesStay {
        // This misses only replies in flight whose attributes the kernel has not cached before.
        if namesAreDue == nil { namesAreDue = .now.advanced(by: Self.echoDelay) } else { hasChangedSince = true }
      } else {
        supportsEpochs = kernel.forgetNames()
      }
    }
    for directory in change.directories {
      if !supportsEpochs { kernel.forgetName(directory.name) }
      kernel.forgetAttributes(directory.inode)
    }
    for inode in change.inodes { kernel.forgetAttributes(inode) }
  }
}
