// Open directories: the state of a listing, and the number of entries that it may still list with attributes. The
// caller holds the position, so seekdir works.

import RealmPages
import Synchronization

/// A receiver of the entries of a listing.
public protocol DirectorySink {
  /// Adds an entry; returns false if it does not fit. `name` is followed by a zero byte that is not part of it. `next`
  /// is the position after the entry. If `attributes` is nil, only the inode number and the kind are known.
  mutating func add(
    _ name: RawSpan,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64
  ) -> Bool

  /// Drops all entries added, because the listing failed or starts over.
  mutating func reset()
}

/// A directory opened for listing.
public final class DirectoryStream: Sendable {
  /// The open directory.
  let node: any Node
  let state: Mutex<State>
  /// The entries of a directory that is computed when it is opened, in the order of the listing.
  let found: Found

  /// The entries of a directory that is computed when it is opened.
  enum Found: Sendable {
    case nothing
    case objects([ObjKey])
    case names([[UInt8]])
  }

  struct State {
    /// The number of entries that may still be listed with attributes before a program looks one of them up.
    var budget: Int
    /// The last known interest in the directory: see `TableDirectory.interest`.
    var interest: UInt64
    /// The key after which position `Position.last` continues.
    var lastKey = Position.lastSpelledKey
    /// The last object that was listed, and the number of objects after it to prepare: as many as the last call listed
    /// with attributes, if the program continues a listing.
    var lastListed = ObjKey.none
    var ahead = 0
  }

  /// The number of entries that a stream lists with attributes without evidence that they are needed. Each costs
  /// rendering an object and an inode in the kernel, which listing a large class does not need. When an object of the
  /// directory is looked up, requested or opened, the budget is renewed.
  static let usualBudget = 131_072
  /// Like `usualBudget`, but for a frozen tree, where programs read many objects: the kernel accepts prefetched texts
  /// only for files that it knows.
  static let frozenBudget = 262_144

  /// Creates a listing of `node`.
  init(_ node: any Node, budget: Int = 0, interest: UInt64 = 0, found: Found = .nothing) {
    self.node = node
    self.found = found
    state = Mutex(State(budget: budget, interest: interest))
  }

  /// Positions in a listing: 0 is the start, 1 and 2 are after `.` and `..`. The positions after each object or table
  /// follow, then those after the files in memory.
  enum Position {
    static let afterDot: UInt64 = 1
    static let afterDotDot: UInt64 = 2
    /// The position after any key too large for a position; the stream remembers the key.
    static let last = UInt64(Int64.max)
    /// The position before the first file in memory.
    static let beforeMemory = last - 1 - 1 << 40
    /// The position after the first of a few entries that follow the files in memory.
    static let afterAll = last - 1000
    static let lastSpelledKey = ObjKey(Int64(beforeMemory - 1 - afterDotDot - 1))

    /// Returns the position after an object.
    static func after(_ key: ObjKey) -> UInt64 {
      key <= lastSpelledKey ? UInt64(key.value) + afterDotDot + 1 : last
    }

    /// Returns the position after a file in memory.
    static func after(memory inode: InodeNumber) -> UInt64 { beforeMemory + inode.value }

    /// Returns the number of the file in memory before a position; nil if the position is before all of them.
    static func memory(_ position: UInt64) -> UInt64? {
      position > beforeMemory && position < last ? position - beforeMemory : nil
    }

    /// Returns the key before a position; `.none` before the first object.
    static func key(_ position: UInt64, _ state: State) -> ObjKey {
      if position <= afterDotDot { return .none }
      return position >= last ? state.lastKey : ObjKey(Int64(position - afterDotDot - 1))
    }
  }
}
