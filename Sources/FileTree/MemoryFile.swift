// A file whose bytes are in memory: a scratch file, a file that shall become an object, or what one handle writes over
// an object. The realm learns of it only when it is saved.
//
// Invariant: the bytes of all memory files together stay within the budget that they share.

import RealmPages
import Synchronization

/// The bytes that all memory files of a mount may have together.
final class MemoryBudget: Sendable {
  private let used = Atomic<Int>(0)
  private let limit: Int

  /// Room for `limit` bytes.
  init(_ limit: Int) { self.limit = limit }

  /// The bytes in use.
  var usage: Int { used.load(ordering: .relaxed) }

  /// Takes `count` bytes; false, and nothing taken, if there is no room for them.
  func take(_ count: Int) -> Bool {
    let new = used.wrappingAdd(count, ordering: .relaxed).newValue
    if new <= limit { return true }
    used.wrappingSubtract(count, ordering: .relaxed)
    return false
  }

  /// Gives `count` bytes back.
  func giveBack(_ count: Int) { used.wrappingSubtract(count, ordering: .relaxed) }
}

/// A regular file in memory.
final class MemoryFile: Sendable {
  /// How far the bytes are from what was saved or opened.
  enum Progress: Sendable {
    /// They are what was opened or saved last.
    case clean
    /// They were cut to nothing, and nothing was written since. Closing that changes nothing.
    case emptied
    /// They were written.
    case written
    /// They were written, and saving them failed with this error.
    case refused(FileTreeError)
  }

  /// What stat shows and chmod, chown and utimens change.
  struct Metadata: Sendable {
    var permissions: UInt32
    var owner: UInt32
    var group: UInt32
    var modified: Timestamp
  }

  private struct State {
    var bytes: [UInt8]
    var progress = Progress.clean
    var metadata: Metadata
  }

  /// The inode that the kernel knows it by.
  let inode: InodeNumber
  /// The name that it was made or opened by, for when nothing else has a name any more.
  let name: [UInt8]
  private let budget: MemoryBudget
  private let state: Mutex<State>

  /// A file with `bytes`; nil if the budget has no room for them.
  init?(
    _ inode: InodeNumber,
    _ name: [UInt8],
    _ bytes: [UInt8],
    _ metadata: Metadata,
    _ budget: MemoryBudget
  ) {
    guard budget.take(bytes.count) else { return nil }
    self.inode = inode
    self.name = name
    self.budget = budget
    state = Mutex(State(bytes: bytes, metadata: metadata))
  }

  deinit { budget.giveBack(size) }

  /// The number of bytes.
  var size: Int { state.withLock { $0.bytes.count } }

  /// All bytes.
  var bytes: [UInt8] { state.withLock { $0.bytes } }

  var metadata: Metadata { state.withLock { $0.metadata } }

  /// Who made or opened it.
  var owner: Caller {
    let metadata = metadata
    return Caller(user: metadata.owner, group: metadata.group)
  }

  var progress: Progress { state.withLock { $0.progress } }

  /// Changes what stat shows.
  func update(_ change: (inout Metadata) -> Void) { state.withLock { change(&$0.metadata) } }

  /// Calls `body` with up to `count` bytes from `offset` on.
  func read<R>(from offset: Int, count: Int, _ body: (RawSpan) -> R) -> R {
    state.withLock { state in
      let start = min(max(offset, 0), state.bytes.count)
      let end = start + min(max(count, 0), state.bytes.count - start)
      return body(state.bytes.span.bytes.extracting(start..<end))
    }
  }

  /// Writes at `offset`, nil for the end; a gap is filled with zeros.
  func write(_ bytes: [UInt8], at offset: Int?) throws(FileTreeError) {
    if bytes.isEmpty { return }
    try state.withLock { state throws(FileTreeError) in
      let start = offset ?? state.bytes.count
      let (end, overflow) = start.addingReportingOverflow(bytes.count)
      guard start >= 0, !overflow else { throw .refused(.tooLarge, "no file can be that large") }
      try resize(&state, to: max(end, state.bytes.count))
      state.bytes.replaceSubrange(start..<end, with: bytes)
      state.progress = .written
      state.metadata.modified = Clock.time()
    }
  }

  /// Cuts or grows to `size`, which must not be negative.
  func truncate(to size: Int) throws(FileTreeError) {
    try state.withLock { state throws(FileTreeError) in
      try resize(&state, to: size)
      state.progress = size == 0 ? .emptied : .written
      state.metadata.modified = Clock.time()
    }
  }

  /// Exchanges the bytes, which count as written.
  func replace(_ bytes: [UInt8]) throws(FileTreeError) {
    try state.withLock { state throws(FileTreeError) in
      try resize(&state, to: bytes.count)
      state.bytes = bytes
      state.progress = .written
    }
  }

  /// Notes the outcome of saving `bytes`; of no effect if something else was written meanwhile.
  func note(_ progress: Progress, ofSaving bytes: [UInt8]) {
    state.withLock { if $0.bytes == bytes { $0.progress = progress } }
  }

  private func resize(_ state: inout State, to size: Int) throws(FileTreeError) {
    let growth = size - state.bytes.count
    if growth > 0 {
      guard budget.take(growth) else {
        throw .refused(.noSpace, "files that are being written take more memory than the mount may use for them")
      }
      state.bytes.append(contentsOf: repeatElement(0, count: growth))
    } else if growth < 0 {
      budget.giveBack(-growth)
      state.bytes.removeLast(-growth)
    }
  }
}
