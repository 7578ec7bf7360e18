// Files of a frozen tree. The kernel reads them without opening them: it requests a range of an inode, and caches it.
// Content that is costly to render is kept between two requests. If a program reads one object after another, the texts
// of the next objects are rendered before it requests them.
//
// Invariant: a frozen tree always shows one version, so a text and its size never change.

import RealmPages
import Synchronization

/// State of files that are read without handles.
final class FrozenFiles: Sendable {
  /// A program that reads objects in the order of their keys.
  private struct Reader {
    let ordinal: TableOrdinal
    /// The last object that was read or whose text was prefetched.
    var last: ObjKey
    /// The number of texts prefetched at a time.
    var window = 0
  }

  /// Files that were read in part, the most recent last.
  private let unfinished = Mutex<[OpenFile]>([])
  /// The programs that read objects in order, the most recent last.
  private let readers = Mutex<[Reader]>([])

  private static let maxUnfinished = 16
  private static let maxReaders = 16
  /// The first and the largest number of texts to prefetch. The number doubles each time, so about as many texts are
  /// rendered for nothing, at most, as the program has read.
  private static let windows = (first: 8, most: 8192)
  /// The maximum number of bytes prefetched at a time.
  private static let maxBytes = 8 << 20
  /// The largest text to prefetch. A longer one is worth a separate request.
  fileprivate static let largestText = 32 << 10

  /// Removes and returns a file that was read in part.
  fileprivate func take(_ inode: InodeNumber) -> OpenFile? {
    unfinished.withLock { files in
      files.firstIndex { $0.inode == inode }.map { files.remove(at: $0) }
    }
  }

  /// Keeps a file for its next request. Returns a file that must be closed to make room.
  fileprivate func keep(_ file: OpenFile) -> OpenFile? {
    unfinished.withLock { files in
      files.append(file)
      return files.count > Self.maxUnfinished ? files.removeFirst() : nil
    }
  }

  /// Calls `body` for the objects after `key`, which was just read, if `key` follows the last object of a reader.
  /// `body` returns the size of the object's text, or nil to stop.
  fileprivate func advance(
    at key: ObjKey,
    _ ordinal: TableOrdinal,
    _ cursor: ObjectCursor,
    _ body: (ObjectCursor) throws(EngineError) -> Int?
  ) throws(EngineError) {
    var reader = try takeReader(before: key, ordinal, cursor)
    reader.last = key
    if reader.window > 0 {
      var exists = try cursor.seek(after: key), count = 0, bytes = 0
      while exists, count < reader.window, bytes < Self.maxBytes, let size = try body(cursor) {
        reader.last = cursor.key
        count += 1
        bytes += size
        exists = try cursor.next()
      }
    }
    readers.withLock { [reader] readers in
      readers.append(reader)
      if readers.count > Self.maxReaders { readers.removeFirst() }
    }
  }

  /// Removes and returns the reader whose next object is `key`, with its next window; a new reader if there is none.
  private func takeReader(
    before key: ObjKey,
    _ ordinal: TableOrdinal,
    _ cursor: ObjectCursor
  ) throws(EngineError) -> Reader {
    let found = readers.withLock { readers in
      let index = readers.indices.filter { readers[$0].ordinal == ordinal && readers[$0].last < key }
        .max { readers[$0].last < readers[$1].last }
      return index.map { readers.remove(at: $0) }
    }
    guard var reader = found else { return Reader(ordinal: ordinal, last: key) }
    guard try cursor.seek(after: reader.last), cursor.key == key else {
      // The reader may be another program, which has not read its next object yet.
      readers.withLock { [reader] in $0.append(reader) }
      return Reader(ordinal: ordinal, last: key)
    }
    reader.window = min(max(2 * reader.window, Self.windows.first), Self.windows.most)
    return reader
  }
}

extension FileTree {
  /// Calls `body` with up to `count` bytes of an unopened file from `offset` on; with none at or after the end. Only
  /// for a frozen tree.
  ///
  /// - Throws: the errors of `open` and of reading a handle; `stale` if the version was overwritten.
  public func read(
    _ inode: InodeNumber,
    from offset: Int,
    count: Int,
    _ body: (RawSpan) -> Void
  ) throws(FileTreeError) {
    let file: OpenFile
    if let unfinished = tree.handles.frozenFiles.take(inode) { file = unfinished } else { file = try open(inode) }
    if let stream = file.stream {
      defer { keep(file) }
      let bytes = try stream.read(from: offset, count: count)
      unsafe body(bytes.span.bytes)
      return stream.readAhead(from: offset + bytes.count)
    }
    defer { if offset + count < file.size { keep(file) } else { release(file) } }
    try file.read(from: offset, count: count, body)
  }

  private func keep(_ file: OpenFile) { if let other = tree.handles.frozenFiles.keep(file) { release(other) } }

  /// Calls `body` with the texts of the objects after one that was just read, if a program reads them one after
  /// another: a few texts at first, then more each time. Stops when `body` returns false. Only for a frozen tree.
  public func nextTexts(behind inode: InodeNumber, _ body: (InodeNumber, RawSpan) -> Bool) {
    guard let (ordinal, key) = inode.packedObject ?? tree.namespace.objectInodes.object(inode) else { return }
    // An object that cannot be read here is requested by the kernel, and that request reports the error.
    try? tree.read { view throws(FileTreeError) -> Void in
      let directory = try view.existing(ordinal)
      defer { view.snapshot.limitResidentPages() }
      do throws(EngineError) {
        try view.contexts.lend { context throws(EngineError) in
          try tree.handles.frozenFiles.advance(at: key, ordinal, ObjectCursor(directory.table)) {
            cursor throws(EngineError) in
            // A damaged object has no text; a program that reads it gets the error.
            guard let text = try? context.render(cursor) else { return 0 }
            // Text that was read from reused space must not be returned.
            if text.count > FrozenFiles.largestText || !tree.realm.isCurrent(view.snapshot) { return nil }
            return unsafe body(tree.views.number(directory, cursor.key), text.span.bytes) ? text.count : nil
          }
        }
      } catch { throw .damaged(directory.shownName, error) }
    }
  }
}
