// The first 24 bytes of a file, and where they lead. Source: docs/format/1-storage.md S2.

/// The header of a realm file, and the top ref that it selects. Two are equal if they select the same, whatever the
/// other slot holds.
struct Header: Equatable {
  /// The selected slot, 0 or 1.
  let slot: Int
  /// The format byte of the selected slot.
  private(set) var format: Int
  /// A file written front to back, whose top ref is in a footer.
  private(set) var isStreaming: Bool
  /// The top array, or 0 for a file without content.
  private(set) var topRef: Int

  static let size = Layout.Header.size
  static let footerSize = 16
  /// "T-DB" at offset 16.
  static let signature: UInt32 = 0x4244_2d54
  /// The top ref in the other slot from just before our first commit until it is published. Without it, a crash in that
  /// commit looks like a header that lost its refs. No file has a top array there.
  static let firstCommitMark: UInt64 = 0x00FF_FFFF_FFFF_FFF8
  /// The last word of a copy.
  static let cookie: UInt64 = 0x3034_1252_37E5_26C8

  /// Reads the header of `space`. `isEncrypted` only shapes the message.
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
        throw EngineError(.damaged, "\(path): a copy of a realm that is cut short: \(space.size) bytes, no footer")
      }
      do throws(EngineError) { try space.require(footer, Self.footerSize) } catch {
        throw EngineError(.damaged, "\(path): the footer of this copy of a realm cannot be read: \(error)")
      }
      guard space.word(at: footer + 8) == Self.cookie else {
        throw EngineError(.damaged, "\(path): a copy of a realm that is cut short: its footer is missing")
      }
      ref = space.word(at: footer)
    }
    guard ref % 8 == 0, ref < UInt64(space.size) else {
      throw EngineError(
        .damaged,
        "\(path): the header points to \(ref), but the file has \(space.size) bytes: it is damaged or cut short"
      )
    }
    topRef = Int(ref)
  }

  /// The headers that lead to what either slot shows; without those that can lead nowhere.
  static func bothSlots(of space: PageSpace) throws(EngineError) -> [Header] {
    if space.size < Self.size { return [] }
    try space.require(0, Self.size)
    return [0, 1].compactMap { index in
      let (ref, format) = slot(index, of: space)
      if ref == 0 || ref % 8 != 0 || ref >= UInt64(space.size) { return nil }
      return Header(topRef: Int(ref), format: format)
    }
  }

  /// The slot that counts, 0 or 1. The header must be there.
  static func selectedSlot(of space: PageSpace) -> Int {
    Int(space.byte(at: Layout.Header.flags) & 1)
  }

  /// The top ref in the slot that counts. The header must be there.
  static func selectedTopRef(of space: PageSpace) -> UInt64 { slot(selectedSlot(of: space), of: space).topRef }

  /// The signature. The header must be there.
  static func signature(of space: PageSpace) -> UInt32 {
    UInt32(truncatingIfNeeded: space.word(at: Layout.Header.signature))
  }

  /// What a slot holds, whether it makes sense or not. The header must be there.
  static func slot(_ index: Int, of space: PageSpace) -> (topRef: UInt64, format: Int) {
    (space.word(at: Layout.Header.topRef(index)), Int(space.byte(at: Layout.Header.format(index))))
  }

  /// As if a header led to a version that the version list names.
  init(topRef: Int, format: Int) {
    (slot, isStreaming, self.topRef, self.format) = (0, false, topRef, format)
  }

  /// The same header, as if it led to a version of our own that it does not show yet.
  func showing(_ topRef: Int) -> Header {
    var header = self
    (header.topRef, header.format, header.isStreaming) = (topRef, 24, false)
    return header
  }

  /// The header of a file that is written front to back.
  static func ofCopy(format: Int) -> [UInt8] {
    [UInt8](repeating: 0xFF, count: 8) + [UInt8](repeating: 0, count: 8) + [0x54, 0x2d, 0x44, 0x42]
      + [UInt8(truncatingIfNeeded: format), 0, 0, 0]
  }

  /// The end of a file that is written front to back.
  static func footer(topRef: Int) -> [UInt8] {
    [UInt64(topRef), cookie].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }
}
