// The inode numbers of all nodes that are not objects. A number is never reused for another node.
//
// Invariant: a node stays in the table while the kernel remembers its number (lookups > 0) or something in the tree
// refers to it (`isPinned`).

import Synchronization

/// Identifies a node among those of its type, so that the same node always has the same number.
struct NodeIdentity: Hashable, Sendable {
  private let kind: ObjectIdentifier
  private let number: UInt64
  private let name: [UInt8]

  /// Identifies the node of type `kind` with this number and name.
  init(_ kind: any Node.Type, _ number: UInt64 = 0, _ name: [UInt8] = []) {
    self.kind = ObjectIdentifier(kind)
    self.number = number
    self.name = name
  }
}

/// The inode numbers of nodes, and the nodes that they refer to.
final class NodeTable: Sendable {
  fileprivate struct Entry {
    var node: any Node
    var identity: NodeIdentity?
    var lookups: UInt64 = 0
    var isPinned: Bool
    /// True if its name may refer to another node after a commit.
    var isNamedByText = true
  }

  fileprivate struct State {
    var entries: [InodeNumber: Entry] = [:]
    var numbers: [NodeIdentity: InodeNumber] = [:]
    var last = InodeNumber.root.value
    /// The number of nodes known to the kernel whose names may refer to another node after a commit.
    var namedByText = 0
  }

  private let state = Mutex(State())

  /// Returns the number of the node `identity`. Creates the node on first use; it exists until the mount ends.
  func inode(of identity: NodeIdentity, _ make: (InodeNumber) -> any Node) -> InodeNumber {
    state.withLock { state in
      if let number = state.numbers[identity] { return number }
      let number = state.next()
      state.entries[number] = Entry(node: make(number), identity: identity, isPinned: true, isNamedByText: false)
      state.numbers[identity] = number
      return number
    }
  }

  /// Returns the number that the node `identity` has, or would be assigned by `enter`. For listings, which return
  /// numbers without creating nodes.
  func number(of identity: NodeIdentity) -> InodeNumber { state.withLock { $0.number(of: identity) } }

  /// Counts a lookup of the node `identity`. Creates the node if the kernel does not know it; it is dropped when the
  /// kernel forgets it. `isNamedByText` is true if its name may refer to another node after a commit.
  func enter(
    _ identity: NodeIdentity,
    isNamedByText: Bool = true,
    _ make: (InodeNumber) -> any Node
  ) -> InodeNumber {
    state.withLock { state in
      let number = state.number(of: identity)
      if state.entries[number] == nil {
        state.entries[number] = Entry(
          node: make(number),
          identity: identity,
          isPinned: false,
          isNamedByText: isNamedByText
        )
      }
      state.numbers[identity] = number
      state.changeLookups(number) { $0 + 1 }
      return number
    }
  }

  /// Returns a number that was never used, without a node.
  func newInode() -> InodeNumber { state.withLock { $0.next() } }

  /// Adds a node that something in the tree refers to, under its own number.
  func insert(_ node: any Node) {
    state.withLock { $0.entries[node.inode] = Entry(node: node, isPinned: true) }
  }

  /// Makes a known number refer to another node.
  func replace(_ inode: InodeNumber, by node: any Node) { state.withLock { $0.entries[inode]?.node = node } }

  /// Records that nothing in the tree refers to the node any more.
  func unpin(_ inode: InodeNumber) {
    state.withLock { state in
      state.entries[inode]?.isPinned = false
      state.dropIfUnused(inode)
    }
  }

  /// Returns the node with a number; nil after it was forgotten.
  func node(_ inode: InodeNumber) -> (any Node)? { state.withLock { $0.entries[inode]?.node } }

  /// True if the kernel knows names that may refer to another node after a commit: those of queries, of properties and
  /// of files in memory.
  var hasNamesByText: Bool { state.withLock { $0.namedByText > 0 } }

  /// Counts a lookup of a node.
  func retain(_ inode: InodeNumber) { state.withLock { $0.changeLookups(inode) { $0 + 1 } } }

  /// Releases `lookups` lookups.
  func forget(_ inode: InodeNumber, lookups: UInt64) {
    state.withLock { state in
      state.changeLookups(inode) { $0 - min(lookups, $0) }
      state.dropIfUnused(inode)
    }
  }
}

extension NodeTable.State {
  fileprivate func number(of identity: NodeIdentity) -> InodeNumber {
    if let number = numbers[identity] { return number }
    var hash = UInt64(truncatingIfNeeded: identity.hashValue)
    while true {
      let number = InodeNumber(nodeHash: hash)
      // Two nodes rarely have the same hash. The second then receives a number other than the one in listings.
      if entries[number] == nil { return number }
      hash &+= 1
    }
  }

  fileprivate mutating func next() -> InodeNumber {
    last += 1
    return InodeNumber(last)
  }

  fileprivate mutating func changeLookups(_ inode: InodeNumber, _ change: (UInt64) -> UInt64) {
    guard var entry = entries[inode] else { return }
    let wasKnown = entry.lookups > 0
    entry.lookups = change(entry.lookups)
    entries[inode] = entry
    if entry.isNamedByText { namedByText += (entry.lookups > 0 ? 1 : 0) - (wasKnown ? 1 : 0) }
  }

  fileprivate mutating func dropIfUnused(_ inode: InodeNumber) {
    guard let entry = entries[inode], entry.lookups == 0, !entry.isPinned else { return }
    entries[inode] = nil
    if let identity = entry.identity { numbers[identity] = nil }
  }
}
