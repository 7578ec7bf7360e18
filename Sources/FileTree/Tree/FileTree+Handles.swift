// What is done with open files. Each belongs to the tree that it was opened in.

import Synchronization

extension FileTree {
  /// Must be called soon after `open` returned a handle that may seed the page cache.
  public func pageCacheSeeded(_ file: OpenFile) { tree.openFiles.seeded(file) }

  /// Writes into a handle. Nothing is saved yet, but a command is carried out, and a text that is complete is checked:
  /// see `TreeContext.write`.
  public func write(
    _ file: OpenFile,
    _ bytes: [UInt8],
    at offset: Int,
    by caller: Caller? = nil
  ) throws(FileTreeError) {
    try home(of: file).write(file, bytes, at: offset, by: caller)
  }

  /// Makes room for `count` bytes from `offset` on, by growing the file if `growing`.
  public func allocate(_ file: OpenFile, offset: Int, count: Int, growing: Bool) throws(FileTreeError) {
    try home(of: file).allocate(file, offset: offset, count: count, growing: growing)
  }

  /// Saves what a handle has written, at each close of it. A file that was only emptied is not saved.
  public func flush(_ file: OpenFile, by caller: Caller? = nil) throws(FileTreeError) {
    try home(of: file).flush(file, by: caller)
  }

  /// Makes what programs will ask for after `flush` has saved what a handle wrote. To be called when the program that
  /// saved has its answer and goes on.
  public func prepareNext(after file: OpenFile) { home(of: file).prepareNext(after: file) }

  /// Saves what a handle has written, and waits until all that was ever saved is on disk. An empty file is refused like
  /// any other text that is none.
  public func synchronize(_ file: OpenFile, by caller: Caller? = nil) throws(FileTreeError) {
    try home(of: file).synchronize(file, by: caller)
  }

  /// Waits until all that was saved is on disk.
  public func synchronize() throws(FileTreeError) { try tree.saver?.synchronize() }

  /// Lets go of a handle. What it wrote and never saved, because no close was seen, is saved now.
  public func release(_ file: OpenFile) { home(of: file).release(file) }

  /// The tree that a handle is open in.
  private func home(of file: OpenFile) -> TreeContext { file.home.withLock { $0 } ?? tree }
}
