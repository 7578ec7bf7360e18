// What became of the file of an open realm: it can be moved, removed, replaced, encrypted or decrypted while it is
// open, and whoever shows it has to say so.

/// What an open realm shows, and whether that is what is at its path.
package struct Standing: Sendable, Hashable {
  /// Where the file that is shown is.
  package enum Place: Int, Sendable {
    /// At the path of the realm.
    case here
    /// No file is at the path: the one that was is shown. It may have another name now.
    case gone
    /// Another file is at the path, or none, but programs have the former one open and go on with it: that is shown.
    case shared
    /// At the path, but programs use it under another name, with another lock file: it is shown without them knowing.
    case otherName
    /// At the path, but it belongs to a user with whom root does not share memory: it is shown without his programs
    /// knowing.
    case untrusted
  }

  package var place = Place.here
  /// Whether the file is encrypted.
  package var isEncrypted = false
  /// Counts the files that were shown one after the other.
  package var file = 0

  init() {}

  /// All of it in one number, not negative.
  package var packed: Int { file << 4 | place.rawValue << 1 | (isEncrypted ? 1 : 0) }

  init(packed: Int) {
    (file, isEncrypted) = (packed >> 4, packed & 1 == 1)
    place = Place(rawValue: packed >> 1 & 7) ?? .here
  }
}
