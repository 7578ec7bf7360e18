// Open files. A handle keeps the text that it was opened with until it is released, whatever is committed meanwhile.

import Glibc
import Synchronization

/// How the kernel may use its page cache for a handle.
public enum KernelCaching: Sendable, Hashable {
  /// What it holds of the file is this text.
  case keep
  /// It must drop what it holds, then it may cache.
  case refresh
  /// It must not cache: another handle, which may fill the cache, has another text.
  case bypass
}

/// A file opened for reading.
public final class OpenFile: Sendable {
  public let inode: InodeNumber
  public let caching: KernelCaching
  /// The generation in which the text last changed; 1 for what was there when the mount began.
  public let generation: UInt64
  /// When that was noticed, in nanoseconds of the monotonic clock; 0 if it never changed.
  public let changeNoticed: UInt64
  /// Whether the text may be put into the page cache before anybody can read it. Until `FileTree.pageCacheSeeded` is
  /// called, nobody else gets a handle on the inode.
  public let maySeedPageCache: Bool
  let text: [UInt8]

  init(
    _ inode: InodeNumber, _ decision: OpenFiles.Decision, _ generation: UInt64, noticed: UInt64, text: [UInt8]
  ) {
    self.inode = inode
    self.caching = decision.caching
    self.maySeedPageCache = decision.maySeed
    self.generation = generation
    self.changeNoticed = noticed
    self.text = text
  }

  /// The number of bytes that can be read.
  public var size: Int { text.count }

  /// Calls `body` with up to `count` bytes from `offset` on; none at or beyond the end.
  public func read<R>(from offset: Int, count: Int, _ body: (RawSpan) -> R) -> R {
    let start = min(max(offset, 0), text.count)
    let end = start + min(max(count, 0), text.count - start)
    let text = text
    return body(text.span.bytes.extracting(start..<end))
  }
}

/// Which inodes have open handles, and the text that those share that fill the page cache.
final class OpenFiles: Sendable {
  /// How a new handle uses the page cache.
  struct Decision {
    let caching: KernelCaching
    var maySeed = false
  }

  private struct Record {
    /// Whether the first handle is putting its text into the page cache.
    var isSeeding = false
    var handles = 0
    /// Handles of those that may fill the page cache, all with the same text.
    var cachedHandles = 0
    var text: [UInt8]
  }

  private let records = Mutex<[InodeNumber: Record]>([:])

  /// Larger texts are worth a request of their own.
  private static let largestSeed = 32 << 10

  /// Notes a new handle and decides on its use of the page cache. `isUnchanged` says that the text is the same as ever
  /// since the mount began. Waits while another handle is seeding the page cache, which takes microseconds.
  func open(_ inode: InodeNumber, _ text: [UInt8], isUnchanged: Bool) -> Decision {
    while true {
      if let decision = tryOpen(inode, text, isUnchanged: isUnchanged) { return decision }
      sched_yield()
    }
  }

  private func tryOpen(_ inode: InodeNumber, _ text: [UInt8], isUnchanged: Bool) -> Decision? {
    records.withLock { records in
      guard var record = records[inode] else {
        let maySeed = isUnchanged && !text.isEmpty && text.count <= Self.largestSeed
        records[inode] = Record(isSeeding: maySeed, handles: 1, cachedHandles: 1, text: text)
        return Decision(caching: isUnchanged ? .keep : .refresh, maySeed: maySeed)
      }
      if record.isSeeding { return nil }
      defer { records[inode] = record }
      record.handles += 1
      if record.cachedHandles > 0 && record.text != text { return Decision(caching: .bypass) }
      record.cachedHandles += 1
      record.text = text
      return Decision(caching: isUnchanged ? .keep : .refresh)
    }
  }

  /// Notes that the page cache has the text of `file`.
  func seeded(_ file: OpenFile) { records.withLock { $0[file.inode]?.isSeeding = false } }

  /// Notes that a handle is gone.
  func close(_ file: OpenFile) {
    records.withLock { records in
      guard var record = records[file.inode] else { return }
      record.handles -= 1
      if file.caching != .bypass { record.cachedHandles -= 1 }
      records[file.inode] = record.handles > 0 ? record : nil
    }
  }

  /// The size of the text of some open handle; nil if there is none.
  func size(of inode: InodeNumber) -> Int? { records.withLock { $0[inode]?.text.count } }

  /// All inodes with open handles.
  var inodes: [InodeNumber] { records.withLock { Array($0.keys) } }
}
