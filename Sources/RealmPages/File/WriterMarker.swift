// Shows readers of an encrypted file in other processes that a writer is active, because they may read a page whose
// metadata and content do not match yet. The state consists of two numbers that all processes share. Source:
// docs/format/4-encryption.md 4.5.

/// Marks that encrypted pages are being written, or shows readers that they are.
protocol WriterMarker: Sendable {
  /// Call before writing pages. The first one begins at `offset` of the decrypted file.
  func beginWriting(at offset: Int)
  /// Call after writing the pages.
  func endWriting()
  /// Changes with each `beginWriting` and `endWriting`; nil while a writer is between the two.
  var quietCount: UInt64? { get }
}
