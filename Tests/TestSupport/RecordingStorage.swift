// Records the changes that a commit makes to a file, in order, so that a crash can be simulated at every point.

package import RealmPages

/// A change to a file.
package enum StorageEvent: Sendable {
  /// Bytes were written; they may or may not be on disk before the next sync.
  case write(offset: Int, bytes: [UInt8])
  /// The size of the file changed; it may or may not be on disk before the next sync.
  case resize(Int)
  /// All earlier changes are on disk.
  case sync
}

/// The changes to a file that is opened several times.
package final class EventLog: @unchecked Sendable {
  // Unchecked: one committer at a time, and the test reads the log after the committer has finished.

  /// The changes so far.
  package private(set) var events: [StorageEvent] = []
  /// The number of syncs among them.
  package private(set) var syncs = 0

  package init() {}

  fileprivate func append(_ event: StorageEvent) {
    events.append(event)
    if case .sync = event { syncs += 1 }
  }
}

/// Forwards all calls to another storage and records them. Syncs are only recorded.
package final class RecordingStorage: Storage, Sendable {
  private let base: any Storage
  private let log: EventLog
  /// The changes so far.
  package var events: [StorageEvent] { log.events }

  /// Records the calls to `base`.
  package init(_ base: any Storage, into log: EventLog = EventLog()) { (self.base, self.log) = (base, log) }

  package var name: String { base.name }
  package func size() throws(EngineError) -> Int { try base.size() }

  package func grow(to size: Int) throws(EngineError) {
    let former = try base.size()
    try base.grow(to: size)
    if size > former { log.append(.resize(size)) }
  }

  package func shrink(to size: Int) throws(EngineError) {
    try base.shrink(to: size)
    log.append(.resize(size))
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try base.read(into: buffer, at: offset)
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    try base.write(bytes, at: offset)
    log.append(.write(offset: offset, bytes: [UInt8](bytes)))
  }

  package func flush() throws(EngineError) { try base.flush() }

  package func sync() throws(EngineError) { log.append(.sync) }

  package func begin(reusable: () -> [Range<Int>]) { base.begin(reusable: reusable) }
}
