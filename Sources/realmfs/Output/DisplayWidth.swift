// Computes the number of terminal columns that a text occupies, and truncates text to fit. Widths come from the C
// library: East Asian characters and most emoji occupy two columns, combining marks none. The parts of an emoji
// sequence that a terminal may join are counted in full, so a line is never wider than computed.
import CLinux

extension String {
  /// The number of terminal columns that the text occupies.
  var displayWidth: Int {
    if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
    return unicodeScalars.reduce(0) { $0 + $1.displayWidth }
  }

  /// Returns the text, truncated to `width` columns with `…` in place of the rest if it is wider.
  func fitted(to width: Int) -> String {
    if displayWidth <= width { return self }
    var taken = "", used = 0
    for character in self {
      let next = character.unicodeScalars.reduce(0) { $0 + $1.displayWidth }
      if used + next > width - 1 { break }
      taken.append(character)
      used += next
    }
    return taken + (width > 0 ? "…" : "")
  }
}

extension Unicode.Scalar {
  /// Unprintable characters have already been escaped; unknown characters occupy one column.
  fileprivate var displayWidth: Int {
    let width = clinux_scalar_width(value)
    return width < 0 ? 1 : Int(width)
  }
}
