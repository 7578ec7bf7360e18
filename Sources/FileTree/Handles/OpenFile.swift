// Open files. A handle keeps the text that it was opened with until it is released, whatever is committed meanwhile.
// A handle that writes has bytes of its own, which closing it saves.
//
// The kernel's page cache and its idea of a file's size belong to the inode, not to the handle, so handles with
// different texts must not share them. Invariants: all handles of an inode that use the page cache have the same text;
// as long as a handle is open, the size that is shown is that of the handle that was opened last.

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
    /// A text that is made while it is read.
    case stream(StreamedText)
    /// What commits change, as they come.
    case changes(ChangeStream)
  }

  /// The file that is open.
  public let inode: InodeNumber
  /// What the kernel may keep of it.
  public let caching: KernelCaching
  /// Whether the text may be put into the page cache before the first read. Until `FileTree.pageCacheSeeded` is
  /// called, no other handle on the inode is opened.
  public let maySeedPageCache: Bool
  /// Whether the kernel may remember another size of the file than this handle reads: it must forget it before it gets
  /// the handle.
  public let hasNewSize: Bool
  let content: Content
  let access: OpenAccess
  /// Which handle of its inode this is.
  fileprivate let number: UInt64
  /// Whether what is written is checked when it is a whole text: not in scratch files.
  let isWatched: Bool
  /// The thread that opened it; 0 if that is not known.
  let opener: Int32
  private let kernelNumber = Atomic<UInt64>(0)
  /// The number that the kernel knows the file by; 0 before it has the handle.
  var shownInode: UInt64 {
    get { kernelNumber.load(ordering: .relaxed) }
    set { kernelNumber.store(newValue, ordering: .relaxed) }
  }
  /// The tree that it is open in, if that is a transaction's.
  let home = Mutex<TreeContext?>(nil)

  init(_ inode: InodeNumber, _ decision: OpenFiles.Decision, text: [UInt8]) {
    self.inode = inode
    caching = decision.caching
    maySeedPageCache = decision.maySeed
    hasNewSize = decision.hasNewSize
    number = decision.number
    content = .text(text)
    access = OpenAccess()
    (isWatched, opener) = (false, 0)
  }

  init(
    _ inode: InodeNumber,
    _ memory: MemoryFile,
    _ target: (any SaveTarget)?,
    _ access: OpenAccess,
    _ decision: OpenFiles.Decision,
    isWatched: Bool,
    opener: Int32 = 0
  ) {
    self.inode = inode
    caching = .bypass
    maySeedPageCache = false
    hasNewSize = decision.hasNewSize
    number = decision.number
    content = .memory(memory, target: target)
    self.access = access
    self.isWatched = isWatched
    self.opener = opener
  }

  init(_ inode: InodeNumber, _ decision: OpenFiles.Decision, stream: StreamedText) {
    self.inode = inode
    caching = .bypass
    maySeedPageCache = false
    hasNewSize = false
    number = decision.number
    content = .stream(stream)
    access = OpenAccess()
    (isWatched, opener) = (false, 0)
  }

  init(_ inode: InodeNumber, _ decision: OpenFiles.Decision, changes: ChangeStream) {
    self.inode = inode
    caching = .bypass
    maySeedPageCache = false
    hasNewSize = false
    number = decision.number
    content = .changes(changes)
    access = OpenAccess()
    (isWatched, opener) = (false, 0)
  }

  /// What the handle reads, if it waits for commits. Then `read` gives nothing.
  public var changes: ChangeStream? { if case .changes(let changes) = content { changes } else { nil } }

  /// The text, if it is made while it is read. Then `read` gives nothing.
  public var stream: StreamedText? { if case .stream(let stream) = content { stream } else { nil } }

  /// Whether closing the handle may save something.
  public var isWriting: Bool { access.writes || access.truncates }

  /// The number of bytes that can be read.
  public var size: Int {
    switch content {
    case .text(let text): text.count
    case .memory(let memory, _): memory.size
    case .stream, .changes: 0
    }
  }

  /// Calls `body` with up to `count` bytes from `offset` on; none at or beyond the end.
  public func read<R>(from offset: Int, count: Int, _ body: (RawSpan) -> R) throws(FileTreeError) -> R {
    switch content {
    case .text(let text):
      let start = min(max(offset, 0), text.count)
      let end = start + min(max(count, 0), text.count - start)
      return unsafe body(text.span.bytes.extracting(start..<end))
    case .memory(let memory, _): return try memory.read(from: offset, count: count, body)
    case .stream, .changes: return unsafe body([UInt8]().span.bytes)
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
    var hasNewSize = true
    /// Counts the handles of all inodes.
    let number: UInt64
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
    /// Whether the kernel may remember that the file is empty, because a handle has emptied it.
    var isKnownEmpty = false
    /// What handles read, in the order of their opening.
    var sizes: [(handle: UInt64, process: Int32, size: Size)] = []
  }

  /// The size of what a handle reads.
  private enum Size {
    case text(Int)
    case memory(MemoryFile)

    var count: Int {
      switch self {
      case .text(let count): count
      case .memory(let memory): memory.size
      }
    }
  }

  private let lastNumber = Atomic<UInt64>(0)
  /// Whether there are records, so that what concerns open files only costs nothing without any.
  private let isUsed = Atomic<Bool>(false)

  /// Larger texts are worth a request of their own.
  private static let largestSeed = 32 << 10

  private let records = Mutex<[InodeNumber: Record]>([:])
  private let seedsPageCache: Bool

  /// Handles of a tree whose texts may be put into the page cache.
  init(seedsPageCache: Bool = true) { self.seedsPageCache = seedsPageCache }

  /// Notes a new handle and decides on its use of the page cache. Waits while another handle is seeding the page cache,
  /// which takes microseconds.
  func open(
    _ inode: InodeNumber,
    _ text: [UInt8],
    _ liveliness: Liveliness,
    for process: Int32 = 0
  ) -> Decision {
    let number = newNumber()
    while true {
      if let decision = tryOpen(inode, text, liveliness, number, process) { return decision }
      sched_yield()
    }
  }

  private func newNumber() -> UInt64 {
    isUsed.store(true, ordering: .releasing)
    return lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// The same, but nil while another handle is seeding the page cache.
  func tryOpen(
    _ inode: InodeNumber,
    _ text: [UInt8],
    _ liveliness: Liveliness,
    _ number: UInt64,
    _ process: Int32
  ) -> Decision? {
    records.withLock { records in
      var record = records[inode] ?? Record(text: text)
      if record.isSeeding { return nil }
      defer { records[inode] = record }
      record.handles += 1
      // What the kernel remembers of a file that is open is the size of another handle.
      let hasNewSize = liveliness == .live || record.sizes.contains { $0.size.count != text.count }
      record.sizes.append((number, process, .text(text.count)))
      if record.cachedHandles > 0 && record.text != text { return Decision(caching: .bypass, number: number) }
      record.text = text
      // While another handle writes over the file its size is not that of the text, and the page cache would fill up
      // with zeros.
      if liveliness == .live || !record.edits.isEmpty { return Decision(caching: .bypass, number: number) }
      record.cachedHandles += 1
      if liveliness == .quiet { return Decision(caching: .refresh, hasNewSize: hasNewSize, number: number) }
      record.isSeeding = seedsPageCache && record.handles == 1 && !text.isEmpty && text.count <= Self.largestSeed
      return Decision(caching: .keep, maySeed: record.isSeeding, hasNewSize: hasNewSize, number: number)
    }
  }

  /// Notes that the page cache has the text of `file`.
  func seeded(_ file: OpenFile) { records.withLock { $0[file.inode]?.isSeeding = false } }

  /// Notes a handle whose text is made while it is read.
  func openStream(_ inode: InodeNumber) -> Decision {
    let number = newNumber()
    records.withLock { $0[inode, default: Record()].handles += 1 }
    return Decision(caching: .bypass, number: number)
  }

  /// Notes a handle that writes over the file; with `isEmptied`, the kernel knows its size.
  func open(_ inode: InodeNumber, _ edit: Edit, isEmptied: Bool = false, for process: Int32 = 0) -> Decision {
    let number = newNumber()
    records.withLock { records in
      records[inode, default: Record()].handles += 1
      records[inode]?.edits.append(edit)
      records[inode]?.sizes.append((number, process, .memory(edit.memory)))
    }
    return Decision(caching: .bypass, hasNewSize: !isEmptied, number: number)
  }

  /// The size to show of a file whose text has `size` bytes: that of what was written over it and not saved, or else of
  /// what the handle reads that was opened last, by `process` if it has one. And whether the kernel may remember it: if
  /// it is the same for all handles, or 0 because the only one has just emptied the file. Nil if no handle is open, or
  /// those that are have been closed by a program that has them.
  func shownSize(of inode: InodeNumber, now size: Int, for process: Int32?) -> (size: Int, isCertain: Bool)? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    guard let (handles, edits, sizes) = records.withLock({ $0[inode].map { ($0.handles, $0.edits, $0.sizes) } }) else {
      return nil
    }
    let unsaved = edits.last {
      if case .clean = $0.memory.progress { false } else { true }
    }
    if let unsaved {
      // What is written next the kernel knows by itself; `endsKnownEmpty` tells of a file to which nothing is written.
      if handles == 1, unsaved.memory.isJustEmptied {
        records.withLock { $0[inode]?.isKnownEmpty = true }
        if unsaved.memory.isJustEmptied { return (0, true) }
      }
      return (unsaved.memory.size, false)
    }
    guard let shown = sizes.last(where: { $0.process == process }) ?? sizes.last else { return nil }
    return (shown.size.count, sizes.allSatisfy { $0.size.count == size })
  }

  /// Notes that a handle was closed, as far as its programs are concerned: what it wrote is saved, and its file has the
  /// size of what it was saved as.
  func settle(_ file: OpenFile) {
    records.withLock { $0[file.inode]?.sizes.removeAll { $0.handle == file.number } }
  }

  /// Whether the kernel may remember a file as empty that has a text again; from now on it may not.
  func endsKnownEmpty(_ inode: InodeNumber) -> Bool {
    records.withLock { records in
      guard records[inode]?.isKnownEmpty ?? false else { return false }
      records[inode]?.isKnownEmpty = false
      return true
    }
  }

  /// Whether a handle is open.
  func isOpen(_ inode: InodeNumber) -> Bool { records.withLock { $0[inode] != nil } }

  /// What open handles have written and no save was tried of.
  var unsaved: [Edit] {
    records.withLock { $0.values.flatMap(\.edits) }
      .filter { if case .written = $0.memory.progress { true } else { false } }
  }

  /// What handles write over a file.
  func edits(of inode: InodeNumber) -> [Edit] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return records.withLock { $0[inode]?.edits ?? [] }
  }

  /// Notes that a handle is gone.
  func close(_ file: OpenFile) {
    records.withLock { records in
      guard var record = records[file.inode] else { return }
      record.handles -= 1
      if case .memory(let memory, _) = file.content { record.edits.removeAll { $0.memory === memory } }
      if file.caching != .bypass { record.cachedHandles -= 1 }
      record.sizes.removeAll { $0.handle == file.number }
      records[file.inode] = record.handles > 0 ? record : nil
    }
  }

  /// All inodes with open handles.
  var inodes: [InodeNumber] { records.withLock { Array($0.keys) } }
}
