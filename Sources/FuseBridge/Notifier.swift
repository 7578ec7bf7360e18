// Tells the kernel what a new version makes stale in its caches of names and attributes, from a thread of its own: the
// kernel may make a notification wait for a request, so no request may wait for a notification.
//
// While the kernel can have something cached, the realm is looked at every 20 ms; else the thread sleeps.

import FileTree
import Synchronization
import Threads

/// The announcer of changes to the kernel.
final class Notifier: @unchecked Sendable {
  // Unchecked: variables are touched under the monitor's lock, or by the notifier's thread alone (`knowsEpochs`,
  // `namesAreDue`), or before that exists and after its end (`thread`).
  private let tree: FileTree
  private let kernel: KernelCache
  private let changes: ChangeReader
  private let monitor = Monitor()
  private var thread: Thread?

  private var isStopping = false
  private var hasStopped = false
  private var mayHaveChanged = false
  /// Whether the kernel can forget all names at once; until it says no.
  private var knowsEpochs = true
  /// When the kernel is to forget all names, because attributes may have been on their way while objects changed, and
  /// whether more have changed since that was decided.
  private var namesAreDue: MonotonicTime?, hasChangedSince = false

  private let lastCacheableReply = Atomic<Int64>(0)
  private let isAsleep = Atomic<Bool>(false)
  /// When the last version was announced.
  private let lastAnnouncement = Atomic<Int64>(0)

  private static let pollInterval = Duration.milliseconds(20)
  /// A little more than the kernel's own timeouts: after this long it trusts no earlier notification.
  private static let memory = Int64((max(Bridge.entryTimeout, Bridge.attributeTimeout) + 1) * 1e9)
  /// A reply that was on its way while an older kernel was told is made up for after this long.
  private static let echoDelay = Duration.milliseconds(200)

  init(_ tree: FileTree, _ kernel: KernelCache) throws(FileTreeError) {
    self.tree = tree
    self.kernel = kernel
    changes = try tree.changeReader()
  }

  /// Starts announcing. False if there is no thread to be had.
  func start() -> Bool {
    tree.observeVersions { [weak self] in self?.noteVersion(namesStay: $0) }
    tree.dentryInvalidations.observe { [weak self] in self?.wake { $0.mayHaveChanged = true } }
    thread = Thread { [self] in run() }
    return thread != nil
  }

  /// Asks the thread to end.
  func stop() { wake { $0.isStopping = true } }

  /// Whether the thread has ended or never ran.
  var isStopped: Bool { thread == nil || monitor.locked { hasStopped } }

  /// Waits for the end of the thread.
  func join() {
    thread?.join()
    thread = nil
  }

  /// Notes that the kernel is about to be told something that it may cache.
  func noteCacheableReply() {
    let now = MonotonicTime.coarse.nanoseconds
    // Exact to a quarter of a second. Sequential consistency pairs with `sleep`: either this sees that the thread is
    // asleep, or the thread sees the new time.
    if now - lastCacheableReply.load(ordering: .relaxed) < 250_000_000 { return }
    lastCacheableReply.store(now, ordering: .sequentiallyConsistent)
    if isAsleep.load(ordering: .sequentiallyConsistent) { wake { _ in } }
  }

  /// Has a new version announced: at once, but after a row of versions that only changed objects with the next look. Or
  /// the kernel would ask for the same attributes after each save of a program that saves many files.
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
      // An error says only that nothing can be read now; the next look may be luckier.
      if let change = try? tree.nextChange(changes) {
        announce(change)
        if !knowsEpochs { echo = (change, MonotonicTime.now.advanced(by: Self.echoDelay)) }
      }
    }
    monitor.locked {
      hasStopped = true
      monitor.wakeAll()
    }
  }

  /// Sleeps until it is time to look: when a new version was seen, after one poll interval, or, while the
  /// kernel cannot have anything cached, when that ends. False when the thread must end.
  private func sleep(hasEcho: Bool) -> Bool {
    monitor.locked {
      if !mayHaveChanged && !isStopping {
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        let sinceReply = MonotonicTime.coarse.nanoseconds - lastCacheableReply.load(ordering: .sequentiallyConsistent)
        let mustLook = sinceReply < Self.memory || hasEcho
        monitor.wait(until: mustLook ? MonotonicTime.now.advanced(by: Self.pollInterval) : nil)
        isAsleep.store(false, ordering: .sequentiallyConsistent)
      }
      mayHaveChanged = false
      return !isStopping
    }
  }

  /// Leaves cached texts alone: an open handle keeps the text that it was opened with, and a new one says itself
  /// whether what is cached may stay.
  private func announce(_ change: TreeChange) {
    lastAnnouncement.store(MonotonicTime.now.nanoseconds, ordering: .relaxed)
    if knowsEpochs {
      if change.namesStay {
        // Only attributes that are on their way for the first time are missed so.
        if namesAreDue == nil { namesAreDue = .now.advanced(by: Self.echoDelay) } else { hasChangedSince = true }
      } else {
        knowsEpochs = kernel.forgetNames()
      }
    }
    for directory in change.directories {
      if !knowsEpochs { kernel.forgetName(directory.name) }
      kernel.forgetAttributes(directory.inode)
    }
    for inode in change.inodes { kernel.forgetAttributes(inode) }
  }
}
