// Files of a frozen tree, which the kernel reads without opening them: it asks for a piece of an inode, and keeps what
// it gets. What takes long to make is kept between two pieces; and where a program reads one object after another, the
// texts of the next ones are made before it asks.
//
// Invariant: the tree shows one version for good, so a text and its size never change.

import RealmPages
import Synchronization

/// What is remembered of files that are read without handles.
final class FrozenFiles: Sendable {
  /// A program that reads objects in the order of their keys.
  private struct Reader {
    let ordinal: TableOrdinal
    /// The last object that was read or whose text was given away.
    var last: ObjKey
    /// How many texts were given away at a time.
    var window = 0
  }

  /// The files of which a piece was read and more is to come, the latest last.
  private let unfinished = Mutex<[OpenFile]>([])
  /// The latest last.
  private let readers = Mutex<[Reader]>([])

  private static let mostUnfinished = 16
  private static let mostReaders = 16
  /// The texts that are given away first and at most; each time twice as many, so a program that stops has cost no more
  /// than twice what it has read.
  private static let windows = (first: 8, most: 8192)
  /// So many bytes are given away at a time.
  private static let mostBytes = 8 << 20
  /// Longer texts are worth a request of their own.
  fileprivate static let largestText = 32 << 10

  /// Takes the file out that is being read, if it is one of several pieces.
  fileprivate func take(_ inode: InodeNumber) -> OpenFile? {
    unfinished.withLock { files in
      files.firstIndex { $0.inode == inode }.map { files.remove(at: $0) }
    }
  }

  /// Keeps a file for its next piece; returns the one that is to be closed for it.
  fileprivate func keep(_ file: OpenFile) -> OpenFile? {
    unfinished.withLock { files in
      files.append(file)
      return files.count > Self.mostUnfinished ? files.removeFirst() : nil
    }
  }

  /// Calls `body` with the texts behind `key`, which was read, if it is the one behind the last of a reader. It ends
  /// when `body` returns nil instead of the size of a text.
  fileprivate func goOn(
    at key: ObjKey,
    _ ordinal: TableOrdinal,
    _ cursor: ObjectCursor,
    _ body: (ObjectCursor) throws(EngineError) -> Int?
  ) throws(EngineError) {
    var reader = try takeReader(before: key, ordinal, cursor)
    reader.last = key
    if reader.window > 0 {
      var exists = try cursor.seek(after: key), count = 0, bytes = 0
      while exists, count < reader.window, bytes < Self.mostBytes, let size = try body(cursor) {
        reader.last = cursor.key
        count += 1
        bytes += size
        exists = try cursor.next()
      }
    }
    readers.withLock { [reader] readers in
      readers.append(reader)
      if readers.count > Self.mostReaders { readers.removeFirst() }
    }
  }

  /// The reader whose next object is `key`, out of the list, with its next window; or a new one.
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
      // It is another program's, which may come back to it.
      readers.withLock { [reader] in $0.append(reader) }
      return Reader(ordinal: ordinal, last: key)
    }
    reader.window = min(max(2 * reader.window, Self.windows.first), Self.windows.most)
    return reader
  }
}

extension FileTree {
  /// Calls `body` with up to `count` bytes of a file that was not opened, from `offset` on; none at or beyond the end.
  /// For a frozen tree.
  ///
  /// - Throws: what `open` and reading a handle throw; `stale` once the version was overwritten.
  public func read(
    _ inode: InodeNumber,
    from offset: Int,
    count: Int,
    _ body: (RawSpan) -> Void
  ) throws(FileTreeError) {
    let file: OpenFile
    if let unfinished = tree.frozenFiles.take(inode) { file = unfinished } else { file = try open(inode) }
    if let stream = file.stream {
      defer { keep(file) }
      let bytes = try stream.read(from: offset, count: count)
      unsafe body(bytes.span.bytes)
      return stream.readAhead(from: offset + bytes.count)
    }
    defer { if offset + count < file.size { keep(file) } else { release(file) } }
    try file.read(from: offset, count: count, body)
  }

  private func keep(_ file: OpenFile) { if let other = tree.frozenFiles.keep(file) { release(other) } }

  /// Calls `body` with the texts of the objects that come behind one that was just read, if a program reads them one
  /// after another, until it returns false: more each time, and few at first. For a frozen tree.
  public func nextTexts(behind inode: InodeNumber, _ body: (InodeNumber, RawSpan) -> Bool) {
    guard let (ordinal, key) = inode.packedObject ?? tree.objectInodes.object(inode) else { return }
    // What cannot be read is asked for, and the answer tells what is wrong.
    try? tree.read { view throws(FileTreeError) -> Void in
      let directory = try view.existing(ordinal)
      defer { view.snapshot.limitResidentPages() }
      do throws(EngineError) {
        try view.contexts.lend { context throws(EngineError) in
          try tree.frozenFiles.goOn(at: key, ordinal, ObjectCursor(directory.table)) { cursor throws(EngineError) in
            // A damaged object has no text; who reads it gets the error.
            guard let text = try? context.render(cursor) else { return 0 }
            // Nothing is given away that was read from reused space.
            if text.count > FrozenFiles.largestText || !tree.realm.isCurrent(view.snapshot) { return nil }
            return unsafe body(tree.number(directory, cursor.key), text.span.bytes) ? text.count : nil
          }
        }
      } catch { throw .damaged(directory.shownName, error) }
    }
  }
}
