// The open handles of a tree, by inode.
//
// The kernel's size of a file belongs to the inode, not to the handle, and fstat(2) does not pass the handle. A process
// with handles sees the size of the content of the one that it opened last; a process without handles, that of the
// stored text. The kernel keeps the largest size of a text that can be read, so that mappings of it are complete.

import Glibc
import Synchronization

/// The open handles of each inode, and the text shared by the handles that use the page cache.
final class OpenFiles: Sendable {
  /// The page cache use of a new handle.
  struct Decision {
    let caching: KernelCaching
    var maySeed = false
    var hasNewSize = true
    /// The number of the handle, unique among all inodes.
    let number: UInt64
  }

  private struct Record {
    /// True while the first handle stores its text in the page cache.
    var isSeeding = false
    var handles = 0
    /// The number of handles that are being closed.
    var closing = 0
    var cachedHandles = 0
    /// The text of the handles that use the page cache; of the last handle if there are none.
    var text: [UInt8] = []
    /// The drafts of handles, in the order of opening.
    var drafts: [Draft] = []
    /// The content of handles, in the order of opening.
    var views: [View] = []
  }

  /// The content of a handle, and the threads that use it.
  private struct View {
    let handle: UInt64
    /// The threads that opened the handle or wrote to it; 0 if unknown.
    var threads: [Int32]
    let content: Content

    enum Content {
      /// A text of this many bytes.
      case text(Int)
      /// The bytes of a draft.
      case memory(MemoryFile)
      /// A text that is rendered while it is read.
      case stream(StreamedText)
    }

    /// The size; nil if it is unknown until the end is read. May cost a pass over all objects of a class.
    var size: Int? {
      switch content {
      case .text(let count): count
      case .memory(let memory): memory.size
      case .stream(let stream): stream.size
      }
    }

    /// The size of a text that other handles can read; 0 if it is unknown.
    var knownTextSize: Int {
      switch content {
      case .text(let count): count
      case .memory: 0
      case .stream(let stream): stream.knownSize ?? 0
      }
    }
  }

  /// The sizes of an open file.
  struct Sizes {
    /// The size for the requesting process.
    let reported: Int
    /// The size that the kernel keeps for the file: the largest of all texts that can be read, because mappings of the
    /// file end there.
    let kept: Int
    /// True if all handles read texts of the stored size.
    let areEqual: Bool
  }

  private let lastNumber = Atomic<UInt64>(0)
  /// False if no handle was ever opened, so that checks for open files cost nothing.
  private let isUsed = Atomic<Bool>(false)

  private let records = Mutex<[InodeNumber: Record]>([:])
  private let policy: PageCachePolicy

  /// Creates an empty set of handles. If it `seedsPageCache`, texts may be stored in the page cache at open.
  init(seedsPageCache: Bool = true) { policy = PageCachePolicy(seeds: seedsPageCache) }

  /// Records a new handle and decides on its use of the page cache. Waits while another handle is seeding the page
  /// cache, which takes microseconds.
  func open(
    _ inode: InodeNumber,
    _ text: [UInt8],
    _ volatility: PageCachePolicy.Volatility,
    for process: Int32 = 0
  ) -> Decision {
    let number = newNumber()
    while true {
      if let decision = tryOpen(inode, text, volatility, number, process) { return decision }
      sched_yield()
    }
  }

  private func newNumber() -> UInt64 {
    isUsed.store(true, ordering: .releasing)
    return lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// Like `open`, but returns nil while another handle is seeding the page cache.
  func tryOpen(
    _ inode: InodeNumber,
    _ text: [UInt8],
    _ volatility: PageCachePolicy.Volatility,
    _ number: UInt64,
    _ process: Int32
  ) -> Decision? {
    records.withLock { records in
      var record = records[inode] ?? Record(text: text)
      if record.isSeeding { return nil }
      defer { records[inode] = record }
      let others = PageCachePolicy.Others(
        handles: record.handles,
        writers: record.drafts.count,
        anyWriterReads: record.drafts.contains(where: \.reads),
        cacheAnotherText: record.cachedHandles > 0 && record.text != text
      )
      let use = policy.use(ofSize: text.count, volatility, beside: others)
      record.handles += 1
      // The kernel's size of a file that is already open is that of another handle.
      let isNewSize = volatility == .live || record.views.contains { $0.knownTextSize != text.count }
      record.views.append(View(handle: number, threads: [process], content: .text(text.count)))
      if !others.cacheAnotherText { record.text = text }
      if use.caching != .bypass { record.cachedHandles += 1 }
      record.isSeeding = use.maySeed
      return Decision(
        caching: use.caching,
        maySeed: use.maySeed,
        hasNewSize: use.caching == .bypass || isNewSize,
        number: number
      )
    }
  }

  /// Records that the text of `file` is in the page cache.
  func seeded(_ file: OpenFile) { records.withLock { $0[file.inode]?.isSeeding = false } }

  /// Records a handle whose text is rendered while it is read; `stream` is nil if the size of the text is never known.
  func openStream(_ inode: InodeNumber, _ stream: StreamedText?, for process: Int32 = 0) -> Decision {
    let number = newNumber()
    records.withLock { records in
      records[inode, default: Record()].handles += 1
      guard let stream else { return }
      records[inode]?.views.append(View(handle: number, threads: [process], content: .stream(stream)))
    }
    return Decision(caching: .bypass, number: number)
  }

  /// Records a handle with a draft.
  func open(_ inode: InodeNumber, _ draft: Draft, for process: Int32 = 0) -> Decision {
    let number = newNumber()
    records.withLock { records in
      records[inode, default: Record()].handles += 1
      records[inode]?.drafts.append(draft)
      records[inode]?.views.append(View(handle: number, threads: [process], content: .memory(draft.memory)))
    }
    return Decision(caching: .bypass, number: number)
  }

  /// Records that a thread writes to a handle. Its process may have inherited the handle, or may have closed a
  /// duplicate of it.
  func noteWriter(_ thread: Int32, _ file: OpenFile) {
    guard thread != 0, case .draft(let draft) = file.content else { return }
    records.withLock { records in
      guard var views = records[file.inode]?.views else { return }
      if let index = views.lastIndex(where: { $0.handle == file.number }) {
        if views[index].threads.contains(thread) || views[index].threads.count >= Self.maxThreads { return }
        views[index].threads.append(thread)
      } else {
        views.append(View(handle: file.number, threads: [thread], content: .memory(draft.memory)))
      }
      records[file.inode]?.views = views
    }
  }

  /// Returns the draft that a thread has just opened, if its bytes have not changed since.
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

  /// The maximum number of threads recorded for a handle; later threads see the stored size.
  private static let maxThreads = 16

  /// Returns the sizes of a file for a thread; `stored` is the size of its stored text. Nil if no handle is open, or if
  /// each open handle has been closed by one of the processes that share it.
  func sizes(of inode: InodeNumber, stored: Int, for thread: Int32 = 0) -> Sizes? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    guard let views = records.withLock({ $0[inode]?.views }), !views.isEmpty else { return nil }
    let areEqual = views.allSatisfy { if case .stream = $0.content { false } else { $0.size == stored } }
    let kept = views.reduce(stored) { max($0, $1.knownTextSize) }
    if areEqual || thread == 0 { return Sizes(reported: stored, kept: kept, areEqual: areEqual) }
    let own = views.last { view in
      view.threads.contains(thread) || view.threads.contains { Caller.isThread($0, ofProcessOf: thread) }
    }
    let reported = own.flatMap(\.size) ?? stored
    // `own.size` may just have measured the text.
    return Sizes(reported: reported, kept: max(kept, own?.knownTextSize ?? 0), areEqual: false)
  }

  /// Records that a program closed its handle: its text is saved, and from now on the file has the size of the stored
  /// text.
  func settle(_ file: OpenFile) {
    records.withLock { $0[file.inode]?.views.removeAll { $0.handle == file.number } }
  }

  /// Waits until the texts of the handles being released are saved.
  func awaitReleases(of inode: InodeNumber) {
    for draft in drafts(of: inode) { draft.memory.awaitRelease() }
  }

  /// True if a handle on the inode is open.
  func isOpen(_ inode: InodeNumber) -> Bool { records.withLock { $0[inode] != nil } }

  /// The dirty drafts of open handles.
  var unsaved: [Draft] {
    records.withLock { $0.values.flatMap(\.drafts) }.filter { if case .dirty = $0.memory.draft { true } else { false } }
  }

  /// Returns the drafts of the handles on an inode.
  func drafts(of inode: InodeNumber) -> [Draft] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return records.withLock { $0[inode]?.drafts ?? [] }
  }

  /// Records that a handle is being closed. Returns true if all other handles on the inode are, too.
  func beginClose(_ file: OpenFile) -> Bool {
    records.withLock { records in
      guard var record = records[file.inode] else { return true }
      record.closing += 1
      records[file.inode] = record
      return record.closing >= record.handles
    }
  }

  /// Removes a handle.
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

  /// All inodes with open handles whose attributes the kernel may cache, which excludes texts that are rendered while
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
