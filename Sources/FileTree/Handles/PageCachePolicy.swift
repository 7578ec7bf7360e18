// The rules by which handles use the kernel's page cache, which belongs to the inode, not to the handle.
//
// Invariant: all handles of an inode that use the page cache have the same text.

/// The use of the kernel's page cache for a handle.
public enum KernelCaching: Sendable, Hashable {
  /// The cached pages have this text.
  case keep
  /// The kernel must drop the cached pages; after that it may cache.
  case refresh
  /// The kernel must not cache. It requests each range.
  case bypass
}

/// Decides on the page cache use of a new handle that reads a text.
struct PageCachePolicy: Sendable {
  /// How likely a text is to change while a handle is open.
  enum Volatility {
    /// Its table has not changed since the mount began.
    case unchanged
    /// Its table changed, but not recently. Attributes that the kernel cached before have expired.
    case quiet
    /// Its table changed a moment ago. The kernel may have cached a different size, and more changes are likely.
    case live
  }

  /// The other open handles of the inode.
  struct Others {
    var handles = 0
    /// The number of handles with drafts.
    var writers = 0
    /// True if a handle with a draft can read as well.
    var anyWriterReads = false
    /// True if handles use the page cache with a different text.
    var cacheAnotherText = false
  }

  /// The page cache use of the new handle.
  struct Use: Equatable {
    let caching: KernelCaching
    /// True if the text, or its end, may be stored in the page cache at open.
    var maySeed = false
  }

  /// True if texts may be stored in the page cache at open.
  let seeds: Bool

  /// The largest text stored in the page cache at open. A larger one is worth a separate request.
  static let largestSeed = 32 << 10

  /// Returns the page cache use of a handle on a text of `size` bytes.
  func use(ofSize size: Int, _ volatility: Volatility, beside others: Others) -> Use {
    if others.cacheAnotherText { return Use(caching: .bypass) }
    // While another handle writes over the file, its size is not that of the text, and the page cache would fill up
    // with zeros.
    if volatility == .live || others.writers > 0 {
      // If no other handle reads pages of the file, the kernel need not wait for one.
      let isOnlyReader = others.handles == others.writers && !others.anyWriterReads
      return Use(caching: .bypass, maySeed: seeds && isOnlyReader && size > 0)
    }
    if volatility == .quiet { return Use(caching: .refresh) }
    return Use(caching: .keep, maySeed: seeds && others.handles == 0 && size > 0 && size <= Self.largestSeed)
  }
}
