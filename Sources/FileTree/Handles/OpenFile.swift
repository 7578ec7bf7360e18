// Open files. A handle keeps the text that it was opened with until it is released, whatever is committed meanwhile.
// A handle that writes has bytes of its own, which closing it saves.
//
// The kernel's page cache and its idea of a file's size belong to the inode, not to the handle, and fstat(2) does not
// say which handle it asks for. So handles with different texts must not share the page cache, and sizes follow one
// rule: a process is told the size of what the handle reads that it opened last; a process without a handle, the size
// of the stored text; and the kernel keeps the largest size of a text that can be read (`Sizes.kept`), so that maps of
// that text stay whole. Invariant: all handles of an inode that use the page cache have the same text.

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
  /// True if the handle reads, or may be mapped.
  public var reads = true

  /// Reading.
  public init() {}
}

/// An open file.
public final class OpenFile: Sendable {
  enum Content: Sendable {
    /// What reading gives.
    case text([UInt8])
    /// Bytes that change. A draft with a target is the handle's own; without one, the overlay has the file.
    case draft(Draft)
    /// A text that is made while it is read.
    case stream(StreamedText)
  }

  /// The file that is open.
  public let inode: InodeNumber
  /// What the kernel may keep of it.
  public let caching: KernelCaching
  /// True if the text may be put into the page cache before the first read, or, if the handle bypasses it, its end, so
  /// that the kernel knows of no smaller size. Until `FileTree.pageCacheSeeded` is called, no other handle on the inode
  /// is opened.
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
    _ draft: Draft,
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
    content = .draft(draft)
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

  /// The text, if it is made while it is read. Then `read` gives nothing.
  public var stream: StreamedText? { if case .stream(let stream) = content { stream } else { nil } }

  /// Whether closing the handle may save something.
  public var isWriting: Bool { access.writes || access.truncates }

  /// The number of bytes that can be read; 0 of a text that is made while it is read.
  public var size: Int {
    switch content {
    case .text(let text): text.count
    case .draft(let draft): draft.memory.size
    case .stream: 0
    }
  }

  /// What the handle writes; nil if it only reads.
  var draft: Draft? { if case .draft(let draft) = content { draft } else { nil } }

  /// The size to tell a program that asks with this handle; nil if nobody knows it before the end is read.
  var toldSize: Int? {
    switch content {
    case .text(let text): text.count
    case .draft(let draft): draft.memory.size
    case .stream(let stream): stream.size
    }
  }

  /// Calls `body` with up to `count` bytes from `offset` on; none at or beyond the end.
  public func read<R>(from offset: Int, count: Int, _ body: (RawSpan) -> R) throws(FileTreeError) -> R {
    switch content {
    case .text(let text):
      let start = min(max(offset, 0), text.count)
      let end = start + min(max(count, 0), text.count - start)
      return unsafe body(text.span.bytes.extracting(start..<end))
    case .draft(let draft): return try draft.memory.read(from: offset, count: count, body)
    case .stream: return unsafe body([UInt8]().span.bytes)
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

  private struct Record {
    /// Whether the first handle is putting its text into the page cache.
    var isSeeding = false
    var handles = 0
    /// How many of them are being closed.
    var closing = 0
    var cachedHandles = 0
    /// The text of the handles that use the page cache, or of the last handle if there is none.
    var text: [UInt8] = []
    /// What handles write over the file, in the order of their opening.
    var drafts: [Draft] = []
    /// What handles read, in the order of their opening.
    var views: [View] = []
  }

  /// What a handle reads, and who has it.
  private struct View {
    let handle: UInt64
    /// The threads that opened it or wrote through it; 0 stands for one that is not known.
    var threads: [Int32]
    let content: Content

    enum Content {
      /// A text of so many bytes.
      case text(Int)
      /// Bytes of the handle's own.
      case memory(MemoryFile)
      /// A text that is made while it is read.
      case stream(StreamedText)
    }

    /// The size; nil if nobody knows it before the end is read. May cost a pass over all objects of a class.
    var size: Int? {
      switch content {
      case .text(let count): count
      case .memory(let memory): memory.size
      case .stream(let stream): stream.size
      }
    }

    /// The size of a text that other handles can read, if it is known; otherwise 0.
    var knownTextSize: Int {
      switch content {
      case .text(let count): count
      case .memory: 0
      case .stream(let stream): stream.knownSize ?? 0
      }
    }
  }

  /// The sizes of a file that is open.
  struct Sizes {
    /// What the process that asks is told.
    let told: Int
    /// What the kernel takes for the size of the file: not less than any text that can be read, because maps of it end
    /// there.
    let kept: Int
    /// True if all handles read texts of the stored size.
    let areEqual: Bool
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
      let hasNewSize = liveliness == .live || record.views.contains { $0.knownTextSize != text.count }
      record.views.append(View(handle: number, threads: [process], content: .text(text.count)))
      if record.cachedHandles > 0 && record.text != text { return Decision(caching: .bypass, number: number) }
      record.text = text
      // While another handle writes over the file its size is not that of the text, and the page cache would fill up
      // with zeros.
      if liveliness == .live || !record.drafts.isEmpty {
        // Nobody else reads pages of the file, so the kernel need not wait for one.
        let isOnlyReader = record.handles == record.drafts.count + 1 && !record.drafts.contains { $0.reads }
        record.isSeeding = seedsPageCache && isOnlyReader && !text.isEmpty
        return Decision(caching: .bypass, maySeed: record.isSeeding, number: number)
      }
      record.cachedHandles += 1
      if liveliness == .quiet { return Decision(caching: .refresh, hasNewSize: hasNewSize, number: number) }
      record.isSeeding = seedsPageCache && record.handles == 1 && !text.isEmpty && text.count <= Self.largestSeed
      return Decision(caching: .keep, maySeed: record.isSeeding, hasNewSize: hasNewSize, number: number)
    }
  }

  /// Notes that the page cache has the text of `file`.
  func seeded(_ file: OpenFile) { records.withLock { $0[file.inode]?.isSeeding = false } }

  /// Notes a handle whose text is made while it is read; nil for one whose size nobody knows.
  func openStream(_ inode: InodeNumber, _ stream: StreamedText?, for process: Int32 = 0) -> Decision {
    let number = newNumber()
    records.withLock { records in
      records[inode, default: Record()].handles += 1
      guard let stream else { return }
      records[inode]?.views.append(View(handle: number, threads: [process], content: .stream(stream)))
    }
    return Decision(caching: .bypass, number: number)
  }

  /// Notes a handle that writes over the file.
  func open(_ inode: InodeNumber, _ draft: Draft, for process: Int32 = 0) -> Decision {
    let number = newNumber()
    records.withLock { records in
      records[inode, default: Record()].handles += 1
      records[inode]?.drafts.append(draft)
      records[inode]?.views.append(View(handle: number, threads: [process], content: .memory(draft.memory)))
    }
    return Decision(caching: .bypass, number: number)
  }

  /// Notes that a thread writes through a handle: its process may have it from another one, and may have closed a copy
  /// of it before.
  func noteWriter(_ thread: Int32, _ file: OpenFile) {
    guard thread != 0, case .draft(let draft) = file.content else { return }
    records.withLock { records in
      guard var views = records[file.inode]?.views else { return }
      if let index = views.lastIndex(where: { $0.handle == file.number }) {
        if views[index].threads.contains(thread) || views[index].threads.count >= Self.mostThreads { return }
        views[index].threads.append(thread)
      } else {
        views.append(View(handle: file.number, threads: [thread], content: .memory(draft.memory)))
      }
      records[file.inode]?.views = views
    }
  }

  /// What a thread writes that has just opened the file, and nothing else yet.
  func untouchedDraft(of inode: InodeNumber, by thread: Int32) -> Draft? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return records.withLock { records in
      guard let record = records[inode] else { return nil }
      for view in record.views.reversed() where view.threads.first == thread {
        guard case .memory(let memory) = view.content, memory.isUntouched else { continue }
        return record.drafts.last { $0.memory === memory }
      }
      return nil
    }
  }

  /// The most threads recorded for a handle; later threads get the stored size.
  private static let mostThreads = 16

  /// The sizes of a file whose stored text has `stored` bytes, for a thread that asks. Nil if no handle is open, or
  /// those that are have been closed by a program that has them.
  func sizes(of inode: InodeNumber, stored: Int, for thread: Int32 = 0) -> Sizes? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    guard let views = records.withLock({ $0[inode]?.views }), !views.isEmpty else { return nil }
    let areEqual = views.allSatisfy { if case .stream = $0.content { false } else { $0.size == stored } }
    let kept = views.reduce(stored) { max($0, $1.knownTextSize) }
    if areEqual || thread == 0 { return Sizes(told: stored, kept: kept, areEqual: areEqual) }
    let own = views.last { view in
      view.threads.contains(thread) || view.threads.contains { Caller.isThread($0, ofProcessOf: thread) }
    }
    let told = own.flatMap(\.size) ?? stored
    // Measuring the text may just have found its size.
    return Sizes(told: told, kept: max(kept, own?.knownTextSize ?? 0), areEqual: false)
  }

  /// Notes that a handle was closed, as far as its programs are concerned: what it wrote is saved, and its file has the
  /// size of what it was saved as.
  func settle(_ file: OpenFile) {
    records.withLock { $0[file.inode]?.views.removeAll { $0.handle == file.number } }
  }

  /// Waits until what the last handles on an inode wrote is saved.
  func awaitReleases(of inode: InodeNumber) {
    for draft in drafts(of: inode) { draft.memory.awaitRelease() }
  }

  /// Whether a handle is open.
  func isOpen(_ inode: InodeNumber) -> Bool { records.withLock { $0[inode] != nil } }

  /// The drafts of open handles that are to be saved.
  var unsaved: [Draft] {
    records.withLock { $0.values.flatMap(\.drafts) }.filter { if case .dirty = $0.memory.draft { true } else { false } }
  }

  /// What handles write over a file.
  func drafts(of inode: InodeNumber) -> [Draft] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return records.withLock { $0[inode]?.drafts ?? [] }
  }

  /// Notes that a handle is being closed. Returns true if all other handles on the inode are, too.
  func beginClose(_ file: OpenFile) -> Bool {
    records.withLock { records in
      guard var record = records[file.inode] else { return true }
      record.closing += 1
      records[file.inode] = record
      return record.closing >= record.handles
    }
  }

  /// Notes that a handle is gone.
  func close(_ file: OpenFile) {
    records.withLock { records in
      guard var record = records[file.inode] else { return }
      record.handles -= 1
      record.closing -= 1
      if let memory = file.draft?.memory, let index = record.drafts.firstIndex(where: { $0.memory === memory }) {
        record.drafts.remove(at: index)
      }
      if file.caching != .bypass { record.cachedHandles -= 1 }
      record.views.removeAll { $0.handle == file.number }
      records[file.inode] = record.handles > 0 ? record : nil
    }
  }

  /// All inodes with open handles of which the kernel may remember attributes: not those of texts that are made while
  /// they are read.
  var inodes: [InodeNumber] {
    records.withLock { records in
      records.compactMap { inode, record in
        let isStream =
          !record.views.isEmpty && record.views.allSatisfy { if case .stream = $0.content { true } else { false } }
        return isStream ? nil : inode
      }
    }
  }
}
