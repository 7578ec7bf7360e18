// Readers of an encrypted file in other processes can meet a page whose metadata and content do not fit yet. Two
// numbers that all processes share tell them that a writer is active. Source: docs/format/4-encryption.md 4.5.

/// Says that encrypted pages are being written, or tells who reads that this is so.
protocol WriterMarker: Sendable {
  /// Before writing pages, the first of which begins at `offset` of the decrypted file.
  func beginWriting(at offset: Int)
  /// After it.
  func endWriting()
  /// Changes with each `beginWriting` and `endWriting`; nil while a writer is between the two.
  var quietCount: UInt64? { get }
}
