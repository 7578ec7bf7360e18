// Operations on open files. Each file belongs to the tree that it was opened in.

import Synchronization

extension FileTree {
  /// Must be called soon after `open` returned a handle that may seed the page cache.
  public func pageCacheSeeded(_ file: OpenFile) { tree.handles.openFiles.seeded(file) }

  /// Writes to a handle. Nothing is saved yet, but a command is executed and a complete text is checked: see
  /// `Drafts.write`.
  public func write(
    _ file: OpenFile,
    _ bytes: [UInt8],
    at offset: Int,
    by caller: Caller? = nil
  ) throws(FileTreeError) {
    try home(of: file).drafts.write(file, bytes, at: offset, by: caller)
  }

  /// Allocates `count` bytes from `offset` on; grows the file if `growing`.
  public func allocate(_ file: OpenFile, offset: Int, count: Int, growing: Bool) throws(FileTreeError) {
    try home(of: file).drafts.allocate(file, offset: offset, count: count, growing: growing)
  }

  /// Saves the bytes written to a handle; called at each close. A file that was only truncated is not saved.
  public func flush(_ file: OpenFile, by caller: Caller? = nil) throws(FileTreeError) {
    try home(of: file).drafts.flush(file, by: caller)
  }

  /// Renders what programs usually request after `flush` has saved a file. Call it after replying to the program that
  /// saved.
  public func prepareNext(after file: OpenFile) { home(of: file).drafts.prepareNext(after: file) }

  /// Saves the bytes written to a handle, and waits until all saves are on disk. An empty file is refused like any
  /// other invalid text.
  public func synchronize(_ file: OpenFile, by caller: Caller? = nil) throws(FileTreeError) {
    try home(of: file).drafts.synchronize(file, by: caller)
  }

  /// Waits until all saves are on disk.
  public func synchronize() throws(FileTreeError) { try tree.drafts.saver?.synchronize() }

  /// Releases a handle. Saves data that was written but not saved because no close was reported.
  public func release(_ file: OpenFile) { home(of: file).drafts.release(file) }

  /// The tree that a handle was opened in, for use by a new request.
  private func home(of file: OpenFile) -> TreeContext { (file.home.withLock { $0 } ?? tree).serving(Request()) }
}
