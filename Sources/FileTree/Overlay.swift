// What lies over the realm's own tree: files in memory by directory and name, objects whose name is set aside, and
// other names that objects were given.
//
// A file in memory has a number that is never used again. When the file is saved as an object, its number goes on to
// stand for the object as long as the kernel remembers it.

import RealmPages
import Synchronization

/// The names and numbers of files in memory.
final class Overlay: Sendable {
  /// A place in the tree.
  struct Place: Hashable {
    let directory: InodeNumber
    let name: [UInt8]
  }

  /// What a number stands for.
  enum Node {
    case file(MemoryFile)
    case object(TableOrdinal, ObjKey)
  }

  fileprivate struct Entry {
    var node: Node
    /// Where the file is; nil once it is unlinked.
    var place: Place?
    var lookups: UInt64
  }

  fileprivate struct Directory {
    var files: [[UInt8]: InodeNumber] = [:]
    /// Objects whose name was moved to a file.
    var aside: [ObjKey: InodeNumber] = [:]
    /// Names by which objects were created, where these have no primary key.
    var aliases: [[UInt8]: ObjKey] = [:]

    var isEmpty: Bool { files.isEmpty && aside.isEmpty && aliases.isEmpty }
  }

  fileprivate struct State {
    var entries: [InodeNumber: Entry] = [:]
    var directories: [InodeNumber: Directory] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())
  /// Whether there was ever anything, so that a tree that nobody writes to pays nothing.
  private let isUsed = Atomic<Bool>(false)
  private let budget: MemoryBudget

  /// An overlay whose files share `budget`.
  init(_ budget: MemoryBudget) { self.budget = budget }

  // MARK: files

  /// Makes a file at `place`, in place of one that is there, and counts one lookup of it if `isKnown`; nil if memory is
  /// short.
  func makeFile(
    at place: Place,
    _ bytes: [UInt8],
    _ metadata: MemoryFile.Metadata,
    isKnown: Bool
  ) -> MemoryFile? {
    state.withLock { (state) -> MemoryFile? in
      state.lastNumber += 1
      guard let inode = InodeNumber(spelling: .memory(state.lastNumber)),
        let file = MemoryFile(inode, place.name, bytes, metadata, budget)
      else { return nil }
      isUsed.store(true, ordering: .releasing)
      state.unlink(place)
      state.entries[inode] = Entry(node: .file(file), place: place, lookups: isKnown ? 1 : 0)
      state.directories[place.directory, default: Directory()].files[place.name] = inode
      return file
    }
  }

  /// A file that is nowhere in the tree: what one handle writes over the file `inode`. Nil if memory is short.
  func detachedFile(
    _ inode: InodeNumber,
    _ name: [UInt8],
    _ bytes: [UInt8],
    _ metadata: MemoryFile.Metadata
  ) -> MemoryFile? {
    MemoryFile(inode, name, bytes, metadata, budget)
  }

  /// What a number stands for; nil once it is forgotten.
  func node(_ inode: InodeNumber) -> Node? { state.withLock { $0.entries[inode]?.node } }

  /// The file at a place.
  func file(at place: Place) -> MemoryFile? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { $0.file(at: place) }
  }

  /// Where a file is; nil if it was unlinked.
  func place(of inode: InodeNumber) -> Place? { state.withLock { $0.entries[inode]?.place } }

  /// The files of a directory with numbers above `number`, in the order of their numbers.
  func files(in directory: InodeNumber, after number: UInt64) -> [(name: [UInt8], number: UInt64, file: MemoryFile)] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { state in
      var found: [(name: [UInt8], number: UInt64, file: MemoryFile)] = []
      for (name, inode) in state.directories[directory]?.files ?? [:] {
        guard case .memory(let own) = inode.spelledNode, own > number, case .file(let file) = state.entries[inode]?.node
        else { continue }
        found.append((name, own, file))
      }
      return found.sorted { $0.number < $1.number }
    }
  }

  /// All files that are somewhere in the tree.
  var allFiles: [(place: Place, file: MemoryFile)] {
    state.withLock { state in
      state.entries.values.compactMap { entry in
        guard case .file(let file) = entry.node, let place = entry.place else { return nil }
        return (place, file)
      }
    }
  }

  /// Takes a file out of its directory; nil if there is none. Handles on it go on.
  func unlink(_ place: Place) -> MemoryFile? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { state in
      let file = state.file(at: place)
      state.unlink(place)
      return file
    }
  }

  /// Gives a file another place, instead of a file that is there.
  func move(_ inode: InodeNumber, to place: Place) {
    state.withLock { state in
      guard let former = state.entries[inode]?.place, former != place else { return }
      state.unlink(place)
      state.directories[former.directory]?.files[former.name] = nil
      state.entries[inode]?.place = place
      state.directories[place.directory, default: Directory()].files[place.name] = inode
    }
  }

  /// Exchanges the places of two files.
  func exchange(_ first: InodeNumber, _ second: InodeNumber) {
    state.withLock { state in
      guard let a = state.entries[first]?.place, let b = state.entries[second]?.place else { return }
      state.entries[first]?.place = b
      state.entries[second]?.place = a
      state.directories[a.directory]?.files[a.name] = second
      state.directories[b.directory]?.files[b.name] = first
    }
  }

  /// Makes the number of a file stand for the object that it was saved as.
  func becomeObject(_ inode: InodeNumber, _ ordinal: TableOrdinal, _ key: ObjKey) {
    state.withLock { state in
      guard let entry = state.entries[inode] else { return }
      if let place = entry.place { state.directories[place.directory]?.files[place.name] = nil }
      state.entries[inode] = Entry(node: .object(ordinal, key), place: nil, lookups: entry.lookups)
      state.dropIfUnused(inode)
    }
  }

  /// Counts a lookup of a file.
  func retain(_ inode: InodeNumber) { state.withLock { $0.entries[inode]?.lookups += 1 } }

  /// Takes back lookups.
  func forget(_ inode: InodeNumber, lookups: UInt64) {
    state.withLock { state in
      guard let entry = state.entries[inode] else { return }
      state.entries[inode]?.lookups -= min(lookups, entry.lookups)
      state.dropIfUnused(inode)
    }
  }

  // MARK: objects

  /// Hides an object's own name as long as the file `inode` stays where names are given.
  func setAside(_ key: ObjKey, in directory: InodeNumber, as inode: InodeNumber) {
    state.withLock { $0.directories[directory, default: Directory()].aside[key] = inode }
  }

  /// Shows an object under its own name again.
  func takeBack(_ key: ObjKey, in directory: InodeNumber) {
    if !isUsed.load(ordering: .acquiring) { return }
    state.withLock { $0.directories[directory]?.aside[key] = nil }
  }

  /// Whether an object's own name is hidden.
  func isAside(_ key: ObjKey, in directory: InodeNumber) -> Bool {
    if !isUsed.load(ordering: .acquiring) { return false }
    return state.withLock { $0.directories[directory]?.aside[key] != nil }
  }

  /// The objects of a directory whose own names are hidden.
  func aside(in directory: InodeNumber) -> Set<ObjKey> {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { state in state.directories[directory].map { Set($0.aside.keys) } ?? [] }
  }

  /// Whether a directory has files.
  func hasFiles(_ directory: InodeNumber) -> Bool {
    if !isUsed.load(ordering: .acquiring) { return false }
    return state.withLock { state in state.directories[directory].map { !$0.files.isEmpty } ?? false }
  }

  /// Remembers the name by which an object was created.
  func addAlias(_ name: [UInt8], of key: ObjKey, in directory: InodeNumber) {
    isUsed.store(true, ordering: .releasing)
    state.withLock { $0.directories[directory, default: Directory()].aliases[name] = key }
  }

  /// The object that was created by this name.
  func alias(_ name: [UInt8], in directory: InodeNumber) -> ObjKey? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { $0.directories[directory]?.aliases[name] }
  }

  /// Forgets a name that leads to no object any more.
  func removeAlias(_ name: [UInt8], in directory: InodeNumber) {
    state.withLock { $0.directories[directory]?.aliases[name] = nil }
  }

  /// Whether a directory has neither files nor hidden objects.
  func isEmpty(_ directory: InodeNumber) -> Bool {
    state.withLock { $0.directories[directory].map { $0.files.isEmpty && $0.aside.isEmpty } ?? true }
  }

  /// Forgets a directory that is gone, with what was in it.
  func remove(_ directory: InodeNumber) {
    state.withLock { state in
      for name in (state.directories[directory]?.files ?? [:]).keys {
        state.unlink(Place(directory: directory, name: name))
      }
      state.directories[directory] = nil
    }
  }
}

extension Overlay.State {
  fileprivate func file(at place: Overlay.Place) -> MemoryFile? {
    guard let inode = directories[place.directory]?.files[place.name], case .file(let file) = entries[inode]?.node
    else { return nil }
    return file
  }

  fileprivate mutating func unlink(_ place: Overlay.Place) {
    guard let inode = directories[place.directory]?.files.removeValue(forKey: place.name) else { return }
    entries[inode]?.place = nil
    // Where a name was moved to a file that is gone, the object has its own name again.
    for (directory, content) in directories where content.aside.values.contains(inode) {
      directories[directory]?.aside = content.aside.filter { $0.value != inode }
    }
    dropIfUnused(inode)
  }

  fileprivate mutating func dropIfUnused(_ inode: InodeNumber) {
    if let entry = entries[inode], entry.lookups == 0, entry.place == nil { entries[inode] = nil }
  }
}
