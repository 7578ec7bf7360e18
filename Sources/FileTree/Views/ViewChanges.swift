// The changes that have not been reported to the kernel yet.

/// The changes of several successive views, for a cache of names and attributes.
struct ViewChanges {
  /// True if all views have the same classes and objects.
  private(set) var namesStay = true
  /// The changed objects, if `namesStay`.
  private(set) var inodes: Set<InodeNumber> = []

  /// The maximum number of changed objects; with more, the entire name cache is dropped instead.
  private static let most = 1000

  mutating func add(_ changed: [InodeNumber], namesStay stay: Bool) {
    if stay && namesStay { inodes.formUnion(changed) }
    if stay && inodes.count <= Self.most { return }
    (namesStay, inodes) = (false, [])
  }
}
