// How many columns of a terminal a text takes, and cutting one to fit. By the C library's table: East Asian characters
// and most emoji take two, combining marks none. Sequences that a terminal may join into one emoji count in full, so a
// line is never longer than thought.
import CLinux

extension String {
  /// The columns that the text takes.
  var displayWidth: Int {
    if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
    return unicodeScalars.reduce(0) { $0 + $1.displayWidth }
  }

  /// As many characters as take no more than `width` columns, with `…` in place of the rest.
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
  /// What cannot be printed was escaped before; unknown characters take one column.
  fileprivate var displayWidth: Int {
    let width = clinux_scalar_width(value)
    return width < 0 ? 1 : Int(width)
  }
}
