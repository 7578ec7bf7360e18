// A header that leads to no version, in a file that holds some: of copies that were made while an app had the realm
// open, or of apps that commit without syncing. Every engine takes such a file for empty, and overwrites what is in it.
// Source: docs/format/1-storage.md S2.

/// The newest version in a file whose header leads to none.
public struct UnreachedVersion: Sendable {
  /// Its number.
  public let number: UInt64

  /// What who looks at the file is told.
  public var warning: String {
    "the header leads to no version, so the realm is empty to all programs, but version \(number) is in the file: "
      + "'realmfs recover' saves it to a new file"
  }

  /// Why the file should not be written to, or replaced, unasked; nil if nothing is lost by that.
  ///
  /// Version 2 alone may be what a first commit left that was cut off, which is there for nobody. Programs that write
  /// through the library do as Realm's engine does: for them the realm is empty, as it is after a crash before its
  /// first commits were on disk.
  public var reasonAgainstOverwriting: String? {
    if number <= 2 { return nil }
    return "the header leads to no version, but version \(number) is in the file, and would be overwritten: "
      + "'realmfs recover' saves it to a new file"
  }
}

extension Snapshot {
  /// The newest version in a file whose header leads to none; nil of all other files.
  ///
  /// Cost: O(1) where the header leads to a version; else the file is searched.
  public var unreachedVersion: UnreachedVersion? {
    guard top.ref == 0, Self.isBlank(arena.space) else { return nil }
    let newest = RescuedRealm(arena.space, path: path).roots.map(\.version).max()
    // Meanwhile another program may have made its first commits.
    return Self.isBlank(arena.space) ? newest.map(UnreachedVersion.init) : nil
  }

  private static func isBlank(_ space: PageSpace) -> Bool {
    // What cannot be read tells nothing.
    guard (try? space.require(0, Header.size)) != nil, Header.signature(of: space) == Header.signature else {
      return false
    }
    return Header.slot(0, of: space).topRef == 0 && Header.slot(1, of: space).topRef == 0
  }
}
