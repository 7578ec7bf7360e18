// Notifies the realms of this process of commits. Commits of this process are announced directly; a thread waits for
// commits of other processes. The observers of a realm are called where the realm is confined.

import Foundation
import RealmPages
import Synchronization
import Threads

/// The realms of one file that have observers, and the thread that waits for commits.
final class ChangeDelivery: Sendable {
  /// A realm and the function that calls it.
  private struct Subscriber: Sendable {
    let identity: UInt
    let call: @Sendable () -> Void
  }

  private let subscribers = Mutex<[Subscriber]>([])
  private let isWatching = Atomic<Bool>(false)

  /// Calls the observers of all realms, each where its realm is confined.
  func noteChange() { for subscriber in subscribers.withLock({ $0 }) { subscriber.call() } }

  /// Registers `call` to be called after commits.
  func subscribe(_ identity: UInt, _ file: RealmFile, _ call: @escaping @Sendable () -> Void) {
    subscribers.withLock { subscribers in
      subscribers.removeAll { $0.identity == identity }
      subscribers.append(Subscriber(identity: identity, call: call))
    }
    watch(file)
  }

  func unsubscribe(_ identity: UInt) { subscribers.withLock { $0.removeAll { $0.identity == identity } } }

  /// Waits for commits on a background thread, until there are no subscribers.
  private func watch(_ file: RealmFile) {
    if isWatching.exchange(true, ordering: .acquiringAndReleasing) { return }
    let thread = Threads.Thread { [weak file] in
      var known: VersionHold?
      while let file, !file.delivery.subscribers.withLock({ $0.isEmpty }) {
        // If the realm cannot be read, try again: its observers receive the error when they read.
        guard let newest = try? file.reader.hold() else {
          usleep(100_000)
          continue
        }
        if let known, known.snapshot.version != newest.snapshot.version { file.delivery.noteChange() }
        known = newest
        _ = file.reader.waitForChange(since: newest.snapshot, timeout: .milliseconds(250))
      }
      file?.delivery.stopWatching(file)
    }
    if let thread { thread.detach() } else { isWatching.store(false, ordering: .releasing) }
  }

  private func stopWatching(_ file: RealmFile?) {
    isWatching.store(false, ordering: .releasing)
    // A subscriber may have been added in the meantime.
    if let file, !subscribers.withLock({ $0.isEmpty }) { watch(file) }
  }
}

extension Confinement {
  /// Returns a function that schedules a block on the queue, the actor, the main queue or the run loop of the thread.
  func scheduler() -> @Sendable (@escaping @Sendable () -> Void) -> Void {
    switch self {
    case .queue(let queue): return { queue.async(execute: $0) }
    case .actor(let actor):
      return { body in Task { await Self.run(on: actor, body) } }
    case .thread, .everywhere:
      if Foundation.Thread.isMainThread { return { DispatchQueue.main.async(execute: $0) } }
      // Safe: any thread may add to a run loop.
      @safe nonisolated(unsafe) let loop = RunLoop.current
      return { body in
        loop.perform(body)
        // Wakes the loop.
        loop.add(Timer(timeInterval: 0, repeats: false) { _ in }, forMode: .default)
      }
    }
  }

  /// Runs `body` on an actor.
  static func run(on actor: isolated any Actor, _ body: @Sendable () -> Void) async { body() }
}
