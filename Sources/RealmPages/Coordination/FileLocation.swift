// The state of the file of an open realm. The file can be moved, removed, replaced, encrypted or decrypted while it is
// open, and everything that shows the realm must reflect that.

/// The content that an open realm shows, and its relation to the file at the realm's path.
package struct FileLocation: Sendable, Hashable {
  /// The location of the file that is shown.
  package enum Place: Int, Sendable {
    /// At the path of the realm.
    case here
    /// No file is at the path: the previous file is shown. It may have another name now.
    case gone
    /// Another file, or none, is at the path, but programs still have the previous file open and use it: that file is
    /// shown.
    case shared
    /// At the path, but programs use it under another name, with another lock file: it is shown without joining them.
    case otherName
    /// At the path, but it belongs to a user with whom root does not share memory: it is shown without joining the
    /// session.
    case untrusted
  }

  package var place = Place.here
  /// True if the file is encrypted.
  package var isEncrypted = false
  /// The number of files shown before this one.
  package var generation = 0

  init() {}

  /// The whole value in one nonnegative number.
  package var packed: Int { generation << 4 | place.rawValue << 1 | (isEncrypted ? 1 : 0) }

  init(packed: Int) {
    (generation, isEncrypted) = (packed >> 4, packed & 1 == 1)
    place = Place(rawValue: packed >> 1 & 7) ?? .here
  }
}
