// Tells the kernel what a new version makes stale in its caches. The only place that sends notifications, and it does so
// from a thread of its own: the kernel may make a notification wait for a request, so no request may wait for one without
// a limit.
//
// While the kernel can have something cached, the realm is looked at every 20 ms; else the thread sleeps.

import FileTree
import Synchronization

/// The announcer of changes to the kernel.
final class Notifier: @unchecked Sendable {
  // Unchecked: variables are touched under the monitor's lock, or by the notifier's thread alone (`knowsEpochs`), or before
  // that exists and after its end (`thread`).
  private let tree: FileTree
  private let kernel: KernelCache
  private let changes: ChangeReader
  private let monitor = Monitor()
  private var thread: Thread?

  private var isStopping = false
  private var hasStopped = false
  private var mayHaveChanged = false
  /// Inodes whose attributes somebody waits to see forgotten, and how many were asked for and done since the beginning.
  private var requests: [InodeNumber] = []
  private var requested = 0
  private var done = 0

  private let lastCacheableReply = Atomic<UInt64>(0)
  private let isAsleep = Atomic<Bool>(false)
  /// The generation that the kernel has been told of.
  private let announced: Atomic<UInt64>

  /// Whether the kernel can forget all names at once; until it says no.
  private var knowsEpochs = true

  private static let pollInterval: UInt64 = 20_000_000
  /// A little more than the kernel's own timeouts: after this long it trusts nothing that it was told.
  private static let memory = UInt64((max(Bridge.entryTimeout, Bridge.attributeTimeout) + 1) * 1e9)
  /// For how long after a change an open can be based on a name that was looked up before it.
  private static let openWindow: UInt64 = 2_000_000_000
  private static let longestWait: UInt64 = 1_000_000_000
  /// A reply that was on its way while the kernel was told is made up for after this long.
  private static let echoDelay: UInt64 = 200_000_000

  init(_ tree: FileTree, _ kernel: KernelCache) throws(FileTreeError) {
    self.tree = tree
    self.kernel = kernel
    changes = try tree.changeReader()
    announced = Atomic(changes.generation)
  }

  /// Starts announcing. False if there is no thread to be had.
  func start() -> Bool {
    tree.observeVersions { [weak self] in self?.wake { $0.mayHaveChanged = true } }
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

  // MARK: called by requests

  /// Notes that the kernel is about to be told something that it may cache.
  func noteCacheableReply() {
    let now = Clock.coarse()
    // Exact to a quarter of a second; sequential consistency pairs with `sleepUnlessNeeded`.
    if now &- lastCacheableReply.load(ordering: .sequentiallyConsistent) < 250_000_000 { return }
    lastCacheableReply.store(now, ordering: .sequentiallyConsistent)
    if isAsleep.load(ordering: .sequentiallyConsistent) { wake { _ in } }
  }

  /// Waits until the kernel has forgotten the attributes of a file whose text changed lately, because it cuts what is
  /// read at the size that it remembers. Waits a second at most.
  func waitUntilKernelKnows(_ file: OpenFile) {
    guard file.changeNoticed != 0, file.caching != .bypass else { return }
    let now = Clock.now()
    let isAnnounced = announced.load(ordering: .acquiring) >= file.generation
    if isAnnounced && now &- file.changeNoticed > Self.openWindow { return }
    monitor.locked {
      requests.append(file.inode)
      requested += 1
      let ticket = requested
      monitor.wakeAll()
      while done < ticket, !isStopping, Clock.now() < now + Self.longestWait {
        monitor.wait(until: now + Self.longestWait)
      }
    }
  }

  private func wake(_ change: (Notifier) -> Void) {
    monitor.locked {
      change(self)
      monitor.wakeAll()
    }
  }

  // MARK: the thread

  private func run() {
    var echo: (change: TreeChange, time: UInt64)?
    while let work = nextWork(echoAt: echo?.time) {
      for inode in work.requests { kernel.forgetAttributes(inode) }
      monitor.locked {
        done = work.requested
        monitor.wakeAll()
      }
      if let due = echo, Clock.now() >= due.time {
        announce(due.change)
        echo = nil
      }
      // An error says only that nothing can be read now; the next look may be luckier.
      if let change = try? tree.nextChange(changes) {
        announce(change)
        announced.store(changes.generation, ordering: .releasing)
        if !knowsEpochs { echo = (change, Clock.now() + Self.echoDelay) }
      }
    }
    monitor.locked {
      hasStopped = true
      monitor.wakeAll()
    }
  }

  /// Sleeps until there is something to do; nil at the end.
  private func nextWork(echoAt: UInt64?) -> (requests: [InodeNumber], requested: Int)? {
    monitor.locked {
      if requests.isEmpty && !mayHaveChanged && !isStopping { sleep(echoAt) }
      if isStopping { return nil }
      defer {
        requests = []
        mayHaveChanged = false
      }
      return (requests, requested)
    }
  }

  /// Sleeps one poll interval, or without end while the kernel cannot have anything cached.
  private func sleep(_ echoAt: UInt64?) {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    defer { isAsleep.store(false, ordering: .sequentiallyConsistent) }
    let isNeeded = Clock.coarse() &- lastCacheableReply.load(ordering: .sequentiallyConsistent) < Self.memory
    if isNeeded || echoAt != nil {
      isAsleep.store(false, ordering: .sequentiallyConsistent)
      monitor.wait(until: Clock.now() + Self.pollInterval)
    } else {
      monitor.wait()
    }
  }

  // MARK: notifications

  /// Leaves cached texts alone: an open handle keeps the text that it was opened with, and a new one says itself whether
  /// what is cached may stay.
  private func announce(_ change: TreeChange) {
    if knowsEpochs { knowsEpochs = kernel.forgetNames() }
    for directory in change.directories {
      if !knowsEpochs { kernel.forgetName(directory.name) }
      kernel.forgetAttributes(directory.inode)
    }
    for inode in change.inodes { kernel.forgetAttributes(inode) }
  }
}
