// The first 24 bytes of a file, and the top array that they select. Source: docs/format/1-storage.md S2.

/// The header of a realm file, and the top ref that it selects. The slot that is not selected is ignored when headers
/// are compared.
struct Header: Equatable {
  /// The selected slot, 0 or 1.
  let slot: Int
  /// The format byte of the selected slot.
  private(set) var format: Int
  /// True for a file written front to back, which has its top ref in a footer.
  private(set) var isStreaming: Bool
  /// The ref of the top array, or 0 for a file without content.
  private(set) var topRef: Int

  static let size = Layout.Header.size
  static let footerSize = 16
  /// "T-DB" at offset 16.
  static let signature: UInt32 = 0x4244_2d54
  /// The top ref in the other slot from just before our first commit until it is published. Without this mark, a crash
  /// during that commit would look like a header that lost its refs. No file has a top array at this offset.
  static let firstCommitMark: UInt64 = 0x00FF_FFFF_FFFF_FFF8

  /// The last word of a file in streaming form.
  static let cookie: UInt64 = 0x3034_1252_37E5_26C8

  /// Reads the header of `space`. `isEncrypted` only affects the error message.
  init(_ space: PageSpace, path: String, isEncrypted: Bool) throws(EngineError) {
    guard space.size >= Self.size, Self.signature(of: space) == Self.signature else {
      if isEncrypted {
        throw EngineError(
          .wrongKey,
          "\(path): wrong encryption key: its second half fits the file, its first half does not"
        )
      }
      let head = unsafe UnsafeRawBufferPointer(start: space.base, count: min(space.size, FileKind.headSize))
      throw unsafe EngineError(FileKind(Array(head), size: space.size), path: path)
    }
    slot = Self.selectedSlot(of: space)
    var ref: UInt64
    (ref, format) = Self.slot(slot, of: space)
    isStreaming = slot == 0 && ref == .max
    if isStreaming {
      let footer = space.size - Self.footerSize
      guard footer >= Self.size else {
        throw EngineError(.damaged, "\(path): a truncated copy of a realm: \(space.size) bytes, no footer")
      }
      do { try space.require(footer, Self.footerSize) } catch {
        throw EngineError(.damaged, "\(path): the footer of this copy of a realm cannot be read: \(error)")
      }
      guard space.word(at: footer + 8) == Self.cookie else {
        throw EngineError(.damaged, "\(path): a truncated copy of a realm: its footer is missing")
      }
      ref = space.word(at: footer)
    }
    guard ref % 8 == 0, ref < UInt64(space.size) else {
      throw EngineError(
        .damaged,
        "\(path): the header points to \(ref), but the file has \(space.size) bytes: it is damaged or truncated"
      )
    }
    topRef = Int(ref)
  }

  /// Returns the headers for the top refs of both slots, without those that cannot be valid.
  static func bothSlots(of space: PageSpace) throws(EngineError) -> [Header] {
    if space.size < Self.size { return [] }
    try space.require(0, Self.size)
    return [0, 1].compactMap { index in
      let (ref, format) = slot(index, of: space)
      if ref == 0 || ref % 8 != 0 || ref >= UInt64(space.size) { return nil }
      return Header(topRef: Int(ref), format: format)
    }
  }

  /// Returns the selected slot, 0 or 1. The header must be present.
  static func selectedSlot(of space: PageSpace) -> Int {
    Int(space.byte(at: Layout.Header.flags) & 1)
  }

  /// Returns the top ref in the selected slot. The header must be present.
  static func selectedTopRef(of space: PageSpace) -> UInt64 { slot(selectedSlot(of: space), of: space).topRef }

  /// Returns the signature. The header must be present.
  static func signature(of space: PageSpace) -> UInt32 {
    UInt32(truncatingIfNeeded: space.word(at: Layout.Header.signature))
  }

  /// Returns the content of a slot, without checks. The header must be present.
  static func slot(_ index: Int, of space: PageSpace) -> (topRef: UInt64, format: Int) {
    (space.word(at: Layout.Header.topRef(index)), Int(space.byte(at: Layout.Header.format(index))))
  }

  /// A header for a version from the version list.
  init(topRef: Int, format: Int) {
    (slot, isStreaming, self.topRef, self.format) = (0, false, topRef, format)
  }

  /// Returns a copy of this header that leads to a version of our own that is not published yet.
  func showing(_ topRef: Int) -> Header {
    var header = self
    (header.topRef, header.format, header.isStreaming) = (topRef, 24, false)
    return header
  }

  /// Returns the header of a file written front to back.
  static func ofCopy(format: Int) -> [UInt8] {
    [UInt8](repeating: 0xFF, count: 8) + [UInt8](repeating: 0, count: 8) + [0x54, 0x2d, 0x44, 0x42]
      + [UInt8(truncatingIfNeeded: format), 0, 0, 0]
  }

  /// Returns the footer of a file written front to back.
  static func footer(topRef: Int) -> [UInt8] {
    [UInt64(topRef), cookie].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }
}
