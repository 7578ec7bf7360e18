// The two fields of the lock file that show readers of encrypted pages that a writer is active.

import CLinux

extension LockFile: WriterMarker {
  func beginWriting(at offset: Int) {
    unsafe clinux_store_64(clinux_writing_page_offset(info), UInt64(offset) + 1)
    count()
  }

  func endWriting() {
    unsafe clinux_store_64(clinux_writing_page_offset(info), 0)
    count()
  }

  var quietCount: UInt64? {
    unsafe clinux_load_64(clinux_writing_page_offset(info)) == 0 ? clinux_load_64(clinux_write_counter(info)) : nil
  }

  /// Called only by the holder of the write lock.
  private func count() {
    unsafe clinux_store_64(clinux_write_counter(info), clinux_load_64(clinux_write_counter(info)) &+ 1)
  }
}
