// An open directory: where it reads, and how many attributes it may still give away unasked. The position itself is the
// caller's, so seekdir works.

import RealmPages
import Synchronization

/// Takes the entries of a listing one by one.
public protocol DirectorySink {
  /// Takes an entry, or says that it does not fit. `name` is followed by a zero byte that does not belong to it.
  /// `next` is the position behind the entry. Without `attributes` only its inode and kind are known.
  mutating func add(
    _ name: RawSpan,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64
  ) -> Bool

  /// Forgets all entries taken, because what they were read from was not stable.
  mutating func reset()
}

/// A directory opened for listing.
public final class DirectoryStream: Sendable {
  /// The directory that is open.
  let node: any Node
  let state: Mutex<State>
  /// What was found when it was opened, for directories that are made then; in the order of the listing.
  let found: Found

  /// The entries of a directory that is made when it is opened.
  enum Found: Sendable {
    case nothing
    case objects([ObjKey])
    case names([[UInt8]])
  }

  struct State {
    /// Entries that may still be listed with attributes before a program looks one of them up.
    var budget: Int
    /// The interest in the directory when that was last looked at.
    var interest: UInt64
    /// The key behind which position `Position.last` continues.
    var lastKey = Position.lastSpelledKey
    /// The last object that was listed, and how many behind it are worth preparing: as many as the program took at
    /// once, when it goes on.
    var lastListed = ObjKey.none
    var ahead = 0
  }

  /// How many entries a stream lists with attributes without a sign that they are wanted. Each costs rendering an
  /// object and an inode in the kernel, which a mere listing of a large class does not need. When an object of the
  /// directory is looked up, asked for or opened, the budget is renewed.
  static let usualBudget = 131_072
  /// The same of a frozen tree, which is there to read much: the kernel takes texts ahead only of files that it knows.
  static let frozenBudget = 262_144

  /// Lists `node`.
  init(_ node: any Node, budget: Int = 0, interest: UInt64 = 0, found: Found = .nothing) {
    self.node = node
    self.found = found
    state = Mutex(State(budget: budget, interest: interest))
  }

  /// Positions within a listing: 0 is the start, 1 and 2 are behind `.` and `..`, then come those behind an object or
  /// table, and behind all of these the files in memory.
  enum Position {
    static let afterDot: UInt64 = 1
    static let afterDotDot: UInt64 = 2
    /// Behind any key that is too large to be spelled in a position; the stream remembers which.
    static let last = UInt64(Int64.max)
    /// The position before the first file in memory.
    static let beforeMemory = last - 1 - 1 << 40
    /// The position behind the first of a few entries that come after the files in memory.
    static let afterAll = last - 1000
    static let lastSpelledKey = ObjKey(Int64(beforeMemory - 1 - afterDotDot - 1))

    /// The position behind an object.
    static func after(_ key: ObjKey) -> UInt64 {
      key <= lastSpelledKey ? UInt64(key.value) + afterDotDot + 1 : last
    }

    /// The position behind a file in memory.
    static func after(memory inode: InodeNumber) -> UInt64 { beforeMemory + inode.value }

    /// The number of the file in memory that a position is behind; nil if it is before all of them.
    static func memory(_ position: UInt64) -> UInt64? {
      position > beforeMemory && position < last ? position - beforeMemory : nil
    }

    /// The key that a position is behind; `.none` before the first object.
    static func key(_ position: UInt64, _ state: State) -> ObjKey {
      if position <= afterDotDot { return .none }
      return position >= last ? state.lastKey : ObjKey(Int64(position - afterDotDot - 1))
    }
  }
}
