// An open file. A handle keeps the text that it was opened with until it is released, regardless of later commits. A
// handle that writes has a separate draft, which is saved at close.

import Synchronization

/// The access mode of a handle.
public struct OpenAccess: Sendable {
  /// True if the handle writes.
  public var writes = false
  /// True if opening the handle truncates the file to 0.
  public var truncates = false
  /// True if each write appends.
  public var appends = false
  /// True if the handle reads, or may be mapped.
  public var reads = true

  /// Creates the access mode of reading.
  public init() {}
}

/// An open file.
public final class OpenFile: Sendable {
  enum Content: Sendable {
    /// A text that does not change.
    case text([UInt8])
    /// Bytes that change. A draft with a target belongs to the handle; one without belongs to a file of the overlay.
    case draft(Draft)
    /// A text that is rendered while it is read.
    case stream(StreamedText)
  }

  /// The file that is open.
  public let inode: InodeNumber
  /// How the handle uses the kernel's page cache.
  public let caching: KernelCaching
  /// True if the text may be stored in the page cache before the first read or, if the handle bypasses the cache, the
  /// end of the text, so that the kernel does not assume a smaller size. Until `FileTree.pageCacheSeeded` is called, no
  /// other handle on the inode is opened.
  public let maySeedPageCache: Bool
  /// True if the size that the kernel has cached may differ from that of the content of this handle. The kernel must
  /// forget that size before it receives the handle.
  public let hasNewSize: Bool
  let content: Content
  let access: OpenAccess
  /// The number of the handle.
  let number: UInt64
  /// True if complete texts are checked when they are written; false for scratch files.
  let isWatched: Bool
  /// The thread that opened the handle; 0 if unknown.
  let opener: Int32
  private let kernelNumber = Atomic<UInt64>(0)
  /// The inode number of the file in the kernel; 0 until the kernel has the handle.
  var shownInode: UInt64 {
    get { kernelNumber.load(ordering: .relaxed) }
    set { kernelNumber.store(newValue, ordering: .relaxed) }
  }
  /// The tree of the transaction that the file was opened in; nil outside of transactions.
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

  /// The text, if it is rendered while it is read; `read` then returns no bytes.
  public var stream: StreamedText? { if case .stream(let stream) = content { stream } else { nil } }

  /// True if closing the handle may save something.
  public var isWriting: Bool { access.writes || access.truncates }

  /// The number of bytes that can be read; 0 for a text that is rendered while it is read.
  public var size: Int {
    switch content {
    case .text(let text): text.count
    case .draft(let draft): draft.memory.size
    case .stream: 0
    }
  }

  /// The draft of the handle; nil if there is none.
  var draft: Draft? { if case .draft(let draft) = content { draft } else { nil } }

  /// The size reported through this handle; nil if it is unknown until the end is read.
  var reportedSize: Int? {
    switch content {
    case .text(let text): text.count
    case .draft(let draft): draft.memory.size
    case .stream(let stream): stream.size
    }
  }

  /// Calls `body` with up to `count` bytes from `offset` on; with none at or after the end.
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
