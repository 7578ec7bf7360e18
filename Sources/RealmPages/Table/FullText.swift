// The words of a full-text index. Source: format/2-model.md M10.

/// Splits text into words as the index lists them.
enum FullText {
  /// A word's bytes at most.
  private static let maximumLength = 64

  /// The distinct words of a text: letters and digits, lower case, Latin-1 letters without diacritics.
  static func words(_ text: ByteView) -> Set<[UInt8]> {
    var words: Set<[UInt8]> = [], word: [UInt8] = [], isBuilding = false
    let bytes = text.unsafeBytes
    var i = 0
    func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }
    while i < bytes.count {
      let c = bytes[i]
      var letters: [UInt8]?
      switch c {
      case 0x30...0x39, 0x61...0x7a: letters = [c]
      case 0x41...0x5a: letters = [c | 0x20]
      case 0xc0...0xdf:
        i += 1
        let scalar = (UInt32(c) << 6 + UInt32(byte(i) & 0x3f)) & 0x7ff
        if scalar >= 0xc0 && scalar < 0xff { letters = latin(UInt8(scalar)) }
      case 0xe0...0xef: i += 2
      case 0xf0...0xf7: i += 3
      default: break
      }
      if let letters {
        isBuilding = true
        if word.count + letters.count <= maximumLength { word += letters }
      } else if isBuilding {
        words.insert(word)
        (word, isBuilding) = ([], false)
      }
      i += 1
    }
    if isBuilding { words.insert(word) }
    return words
  }

  /// A letter of U+00C0 to U+00FE in lower case and without diacritics, as UTF-8; nothing for the two signs among them.
  private static func latin(_ scalar: UInt8) -> [UInt8] {
    let table: StaticString = "aaaaa\u{1}\u{2}ceeeeiiii\u{3}nooooo\u{0}\u{4}uuuuy\u{5}\u{6}"
    let code = table.withUTF8Buffer { $0[Int(scalar & 0x1f)] }
    switch code {
    case 0: return []
    case 1: return [0xc3, 0xa5]
    case 2: return [0xc3, 0xa6]
    case 3: return [0xc3, 0xb0]
    case 4: return [0xc3, 0xb8]
    case 5: return [0xc3, 0xbe]
    case 6: return [0xc3, 0x9f]
    default: return [code]
    }
  }
}
