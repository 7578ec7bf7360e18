// Open files. A handle keeps the text that it was opened with until it is released, whatever is committed meanwhile.
// A handle that writes has bytes of its own, which closing it saves.
//
// The kernel's page cache and its idea of a file's size belong to the inode, not to the handle, so handles with
// different texts must not share them. Invariant: all handles of an inode that use the page cache have the same text.

import Glibc
import Synchronization

/// How the kernel may use its page cache for a handle.
public enum KernelCaching: Sendable, Hashable {
  /// What it holds of the file is this text.
  case keep
  /// It must drop what it holds, then it may cache.
  case refresh
  /// It must not cache, but ask for each piece.
  case bypass
}

/// How a file is opened.
public struct OpenAccess: Sendable {
  /// Whether the handle writes.
  public var writes = false
  /// Whether the handle begins with an empty file.
  public var truncates = false
  /// Whether each write goes to the end.
  public var appends = false

  /// Reading.
  public init() {}
}

/// An open file.
public final class OpenFile: Sendable {
  enum Content: Sendable {
    /// What reading gives.
    case text([UInt8])
    /// Bytes that change. With a target, they are the handle's own and belong to what it names; without one, the
    /// file is where the overlay has it.
    case memory(MemoryFile, target: (any SaveTarget)?)
  }

  /// The file that is open.
  public let inode: InodeNumber
  /// What the kernel may keep of it.
  public let caching: KernelCaching
  /// Whether the text may be put into the page cache before anybody can read it. Until `FileTree.pageCacheSeeded` is
  /// called, nobody else gets a handle on the inode.
  public let maySeedPageCache: Bool
  let content: Content
  let access: OpenAccess
  /// Whether what is written is checked when it is a whole text: not in scratch files.
  let isWatched: Bool

  init(_ inode: InodeNumber, _ decision: OpenFiles.Decision, text: [UInt8]) {
    self.inode = inode
    caching = decision.caching
    maySeedPageCache = decision.maySeed
    content = .text(text)
    access = OpenAccess()
    isWatched = false
  }

  init(
    _ inode: InodeNumber,
    _ memory: MemoryFile,
    _ target: (any SaveTarget)?,
    _ access: OpenAccess,
    isWatched: Bool
  ) {
    self.inode = inode
    caching = .bypass
    maySeedPageCache = false
    content = .memory(memory, target: target)
    self.access = access
    self.isWatched = isWatched
  }

  /// Whether closing the handle may save something.
  public var isWriting: Bool { access.writes || access.truncates }

  /// The number of bytes that can be read.
  public var size: Int {
    switch content {
    case .text(let text): text.count
    case .memory(let memory, _): memory.size
    }
  }

  /// Calls `body` with up to `count` bytes from `offset` on; none at or beyond the end.
  public func read<R>(from offset: Int, count: Int, _ body: (RawSpan) -> R) -> R {
    switch content {
    case .text(let text):
      let start = min(max(offset, 0), text.count)
      let end = start + min(max(count, 0), text.count - start)
      return body(text.span.bytes.extracting(start..<end))
    case .memory(let memory, _): return memory.read(from: offset, count: count, body)
    }
  }
}

/// Which inodes have open handles, and the text that those share that use the page cache.
final class OpenFiles: Sendable {
  /// How likely the text is to change while a handle is open.
  enum Liveliness {
    /// It is the same as ever since the mount began.
    case unchanged
    /// Its table changed, but not lately: what the kernel may remember from before has run out.
    case quiet
    /// Its table changed a moment ago. The kernel may remember another size, and another change is to be expected.
    case live
  }

  /// How a new handle uses the page cache.
  struct Decision {
    let caching: KernelCaching
    var maySeed = false
  }

  /// What a handle writes.
  struct Edit {
    let memory: MemoryFile
    /// What saving it changes; nil for a file that is where the overlay has it.
    let target: (any SaveTarget)?
  }

  private struct Record {
    /// Whether the first handle is putting its text into the page cache.
    var isSeeding = false
    var handles = 0
    var cachedHandles = 0
    /// The text of the handles that use the page cache, or of the last handle if there is none.
    var text: [UInt8] = []
    /// What handles write over the file, in the order of their opening.
    var edits: [Edit] = []
  }

  /// Larger texts are worth a request of their own.
  private static let largestSeed = 32 << 10

  private let records = Mutex<[InodeNumber: Record]>([:])

  /// Notes a new handle and decides on its use of the page cache. Waits while another handle is seeding the page cache,
  /// which takes microseconds.
  func open(_ inode: InodeNumber, _ text: [UInt8], _ liveliness: Liveliness) -> Decision {
    while true {
      if let decision = tryOpen(inode, text, liveliness) { return decision }
      sched_yield()
    }
  }

  private func tryOpen(_ inode: InodeNumber, _ text: [UInt8], _ liveliness: Liveliness) -> Decision? {
    records.withLock { records in
      var record = records[inode] ?? Record(text: text)
      if record.isSeeding { return nil }
      defer { records[inode] = record }
      record.handles += 1
      if record.cachedHandles > 0 && record.text != text { return Decision(caching: .bypass) }
      record.text = text
      // While somebody writes over the file its size is not that of the text, and the page cache would fill up with
      // zeros.
      if liveliness == .live || !record.edits.isEmpty { return Decision(caching: .bypass) }
      record.cachedHandles += 1
      if liveliness == .quiet { return Decision(caching: .refresh) }
      record.isSeeding = record.handles == 1 && !text.isEmpty && text.count <= Self.largestSeed
      return Decision(caching: .keep, maySeed: record.isSeeding)
    }
  }

  /// Notes that the page cache has the text of `file`.
  func seeded(_ file: OpenFile) { records.withLock { $0[file.inode]?.isSeeding = false } }

  /// Notes a handle that writes over the file.
  func open(_ inode: InodeNumber, _ edit: Edit) {
    records.withLock { records in
      records[inode, default: Record()].handles += 1
      records[inode]?.edits.append(edit)
    }
  }

  /// The size of what was written over a file last and not saved; nil if there is nothing.
  func writtenSize(of inode: InodeNumber) -> Int? {
    let edits = records.withLock { $0[inode]?.edits ?? [] }
    return edits.last {
      if case .clean = $0.memory.progress { false } else { true }
    }?.memory.size
  }

  /// What open handles have written and nobody tried to save.
  var unsaved: [Edit] {
    records.withLock { $0.values.flatMap(\.edits) }
      .filter { if case .written = $0.memory.progress { true } else { false } }
  }

  /// Notes that a handle is gone.
  func close(_ file: OpenFile) {
    records.withLock { records in
      guard var record = records[file.inode] else { return }
      record.handles -= 1
      if case .memory(let memory, _) = file.content { record.edits.removeAll { $0.memory === memory } }
      if file.caching != .bypass { record.cachedHandles -= 1 }
      records[file.inode] = record.handles > 0 ? record : nil
    }
  }

  /// The size of the text of some open handle; nil if there is none.
  func size(of inode: InodeNumber) -> Int? {
    records.withLock { records in records[inode].map { $0.edits.last?.memory.size ?? $0.text.count } }
  }

  /// All inodes with open handles.
  var inodes: [InodeNumber] { records.withLock { Array($0.keys) } }
}
