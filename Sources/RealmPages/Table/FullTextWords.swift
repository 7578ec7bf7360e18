// The words of a string as a full-text index stores them. Source: docs/format/2-model.md M10.

/// Splits strings into words: letters and digits of ASCII and Latin-1, in lower case, most without their diacritics.
enum FullTextWords {
  /// Words are truncated to this many bytes.
  private static let maximumSize = 64

  /// The replacements of the letters U+00C0 to U+00FF; 0 means none.
  private static let latin: [UInt8] = {
    let first: [UInt8] = Array("aaaaa".utf8) + [0xe5, 0xe6] + Array("ceeeeiiii".utf8) + [0xf0] + Array("nooooo".utf8)
    let second: [UInt8] = [0, 0xf8] + Array("uuuuy".utf8) + [0xfe]
    return first + second + [0xdf] + first + second + [0xff]
  }()

  /// Returns the distinct words of `text`, each in UTF-8.
  static func words(in text: UnsafeRawBufferPointer) -> Set<[UInt8]> {
    var words: Set<[UInt8]> = [], word: [UInt8] = []
    var isInWord = false, i = 0
    func append(_ bytes: UInt8...) {
      if word.count + bytes.count <= maximumSize { word += bytes }
    }
    while i < text.count {
      let byte = unsafe text[i]
      var belongs = true
      switch byte {
      case 0x30...0x39, 0x61...0x7a: append(byte)
      case 0x41...0x5a: append(byte | 0x20)
      case 0xc0...0xdf:
        i += 1
        let letter = unsafe (Int(byte) << 6 + Int(i < text.count ? text[i] & 0x3f : 0)) & 0x7ff
        belongs = letter >= 0xc0 && letter < 0xff
        guard belongs else { break }
        let plain = latin[letter & 0x3f]
        if plain >= 0x80 { append(0xc0 | plain >> 6, 0x80 | plain & 0x3f) } else if plain != 0 { append(plain) }
      case 0xe0...0xef:
        i += 2
        belongs = false
      case 0xf0...0xf7:
        i += 3
        belongs = false
      default: belongs = false
      }
      if belongs {
        isInWord = true
      } else if isInWord {
        words.insert(word)
        word.removeAll(keepingCapacity: true)
        isInWord = false
      }
      i += 1
    }
    if isInWord { words.insert(word) }
    return words
  }
}
