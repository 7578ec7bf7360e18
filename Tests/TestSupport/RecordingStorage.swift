// Remembers what a commit does to a file, in order, so that a crash can be played at every moment of it.

package import RealmPages

/// What was done to a file.
package enum StorageEvent: Sendable {
  /// Bytes were written; they may or may not be on disk before the next sync.
  case write(offset: Int, bytes: [UInt8])
  /// The file has another size; likewise.
  case resize(Int)
  /// Everything before is on disk.
  case sync
}

/// Passes everything on to another storage and remembers it. Syncs are only remembered.
package final class RecordingStorage: Storage, @unchecked Sendable {
  // Unchecked: one committer at a time, and the test looks when it has ended.
  private let base: any Storage
  /// What was done so far.
  package private(set) var events: [StorageEvent] = []

  /// Records what reaches `base`.
  package init(_ base: any Storage) { self.base = base }

  package var name: String { base.name }
  package func size() throws(EngineError) -> Int { try base.size() }

  package func grow(to size: Int) throws(EngineError) {
    let former = try base.size()
    try base.grow(to: size)
    if size > former { events.append(.resize(size)) }
  }

  package func shrink(to size: Int) throws(EngineError) {
    try base.shrink(to: size)
    events.append(.resize(size))
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try base.read(into: buffer, at: offset)
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    try base.write(bytes, at: offset)
    events.append(.write(offset: offset, bytes: [UInt8](bytes)))
  }

  package func flush() throws(EngineError) { try base.flush() }

  package func sync() throws(EngineError) { events.append(.sync) }

  package func begin(reusable: () -> [Range<Int>]) { base.begin(reusable: reusable) }
}
