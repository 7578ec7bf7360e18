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

  fileprivate struct Directory {
    private(set) var files: [[UInt8]: MemoryFile] = [:]
    /// The files in the order of their numbers, and some that are gone: those whose name is not that of a file with
    /// this number.
    private var order: [(number: UInt64, name: [UInt8])] = []
    /// Objects whose name was moved to a file.
    var aside: [ObjKey: InodeNumber] = [:]
    /// Names by which objects were created, where these have no primary key.
    var aliases: [[UInt8]: ObjKey] = [:]
    /// The objects that have, or had, such a name.
    var aliased: Set<ObjKey> = []

    var isEmpty: Bool { files.isEmpty && aside.isEmpty && aliases.isEmpty }

    /// Puts a file under a name, or with nil none.
    mutating func set(_ name: [UInt8], _ file: MemoryFile?) {
      files[name] = file
      guard let number = file?.inode.value else {
        // Each file that goes pays for one step of this.
        if order.count > 2 * files.count + 64 { order.removeAll { files[$0.name]?.inode.value != $0.number } }
        return
      }
      let index = index(after: number - 1)
      if index < order.count, order[index].number == number {
        order[index].name = name
      } else {
        order.insert((number, name), at: index)
      }
    }

    /// Up to `limit` files with numbers above `number`, in the order of their numbers.
    func files(after number: UInt64, limit: Int) -> [(name: [UInt8], file: MemoryFile)] {
      var found: [(name: [UInt8], file: MemoryFile)] = []
      for entry in order[index(after: number)...] {
        if found.count == limit { break }
        if let file = files[entry.name], file.inode.value == entry.number { found.append((entry.name, file)) }
      }
      return found
    }

    /// The first place in the order that is beyond a number.
    private func index(after number: UInt64) -> Int { bisect(order.count) { order[$0].number <= number } }
  }

  fileprivate struct State {
    var directories: [InodeNumber: Directory] = [:]
    /// Where each file is that is somewhere in the tree.
    var places: [InodeNumber: Place] = [:]
  }

  private let state = Mutex(State())
  /// Whether there was ever anything, so that a tree without writers pays nothing.
  private let isUsed = Atomic<Bool>(false)
  /// True if any object was created by a name that is not its own.
  private let hasAliases = Atomic<Bool>(false)
  private let budget: MemoryBudget
  private let nodes: NodeTable

  /// An overlay whose files share `budget` and have their numbers from `nodes`.
  init(_ budget: MemoryBudget, _ nodes: NodeTable) {
    self.budget = budget
    self.nodes = nodes
  }

  // MARK: files

  /// Makes a file at `place`, in place of one that is there, and counts one lookup of it if `isKnown`; nil if memory is
  /// short.
  func makeFile(
    at place: Place,
    _ bytes: [UInt8],
    _ metadata: MemoryFile.Metadata,
    role: MemoryFile.Role = .file,
    form: TextForm = .object,
    isKnown: Bool
  ) -> MemoryFile? {
    makeFile(at: place, metadata, role, form, isKnown) { ChunkedBytes(bytes, $0) }
  }

  /// Keeps a text of the file at `path` that was refused, in the memory of the file that it came from as long as that
  /// is there.
  func keepRefused(_ text: ChunkedBytes, of path: String, at place: Place, _ metadata: MemoryFile.Metadata) {
    // Without room for the text there is still the line that says so.
    let file = makeFile(at: place, metadata, .refusedText, .object, false) { ChunkedBytes(text, $0) }
    file?.refusedPath = path
  }

  /// Drops refused texts until all of them take no more than `limit` bytes: the oldest of the user whose texts take the
  /// most. Returns where they were. Does nothing, at no cost, where files in memory take little.
  func limitRefused(to limit: Int) -> [Place] {
    if budget.usage <= limit { return [] }
    var texts: [UInt32: [(place: Place, file: MemoryFile)]] = [:], sizes: [UInt32: Int] = [:], gone: [Place] = []
    for (place, file) in allFiles where file.role == .refusedText {
      let owner = file.metadata.owner
      texts[owner, default: []].append((place, file))
      sizes[owner, default: 0] += file.cost
    }
    for owner in texts.keys { texts[owner]?.sort { $0.file.inode.value > $1.file.inode.value } }
    while sizes.values.reduce(0, +) > limit, let owner = sizes.max(by: { $0.value < $1.value })?.key,
      let oldest = texts[owner]?.popLast()
    {
      sizes[owner, default: 0] -= oldest.file.cost
      _ = unlink(oldest.place)
      gone.append(oldest.place)
    }
    return gone
  }

  private func makeFile(
    at place: Place,
    _ metadata: MemoryFile.Metadata,
    _ role: MemoryFile.Role,
    _ form: TextForm,
    _ isKnown: Bool,
    hiding object: (directory: InodeNumber, key: ObjKey)? = nil,
    _ bytes: (MemoryBudget) -> ChunkedBytes?
  ) -> MemoryFile? {
    let inode = nodes.newInode(), budget = budget.share(of: metadata.owner)
    guard let file = MemoryFile(inode, role, place.name, metadata, budget, form, bytes) else { return nil }
    isUsed.store(true, ordering: .releasing)
    nodes.insert(MemoryNode(file: file))
    if isKnown { nodes.retain(inode) }
    state.withLock { state in
      unlink(place, &state)
      state.places[inode] = place
      state.directories[place.directory, default: Directory()].set(place.name, file)
      if let (directory, key) = object { state.directories[directory, default: Directory()].aside[key] = inode }
    }
    return file
  }

  /// A file that is nowhere in the tree: what one handle writes over the file `inode`. Nil if memory is short.
  func detachedFile(
    _ inode: InodeNumber,
    _ name: [UInt8],
    _ bytes: [UInt8],
    _ metadata: MemoryFile.Metadata,
    form: TextForm
  ) -> MemoryFile? {
    MemoryFile(inode, .edit, name, metadata, budget.share(of: metadata.owner), form) { ChunkedBytes(bytes, $0) }
  }

  /// The same for lines, of which all but the last go to `spool`; nil keeps all in memory.
  func detachedLines(
    _ inode: InodeNumber,
    _ name: [UInt8],
    _ spool: SpoolFile?,
    _ metadata: MemoryFile.Metadata
  ) -> MemoryFile? {
    MemoryFile(inode, .edit, name, metadata, budget.share(of: metadata.owner), .lines) {
      ChunkedBytes($0, spool: spool)
    }
  }

  /// The file at a place.
  func file(at place: Place) -> MemoryFile? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { $0.directories[place.directory]?.files[place.name] }
  }

  /// Where a file is; nil if it was unlinked.
  func place(of inode: InodeNumber) -> Place? { state.withLock { $0.places[inode] } }

  /// Up to `limit` files of a directory with numbers above `number`, in the order of their numbers.
  func files(in directory: InodeNumber, after number: UInt64, limit: Int) -> [(name: [UInt8], file: MemoryFile)] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { $0.directories[directory]?.files(after: number, limit: limit) ?? [] }
  }

  /// All files that are somewhere in the tree.
  var allFiles: [(place: Place, file: MemoryFile)] {
    state.withLock { state in
      state.directories.flatMap { directory, content in
        content.files.map { (Place(directory: directory, name: $0.key), $0.value) }
      }
    }
  }

  /// Takes a file out of its directory; nil if there is none. Handles on it go on.
  func unlink(_ place: Place) -> MemoryFile? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { state in unlink(place, &state) }
  }

  /// Gives a file another place, instead of a file that is there.
  func move(_ inode: InodeNumber, to place: Place) {
    state.withLock { state in
      guard let former = state.places[inode], former != place else { return }
      unlink(place, &state)
      let file = state.directories[former.directory]?.files[former.name]
      state.directories[former.directory]?.set(former.name, nil)
      state.places[inode] = place
      state.directories[place.directory, default: Directory()].set(place.name, file)
    }
  }

  /// Exchanges the places of two files.
  func exchange(_ first: InodeNumber, _ second: InodeNumber) {
    state.withLock { state in
      guard let a = state.places[first], let b = state.places[second] else { return }
      let firstFile = state.directories[a.directory]?.files[a.name]
      let secondFile = state.directories[b.directory]?.files[b.name]
      state.places[first] = b
      state.places[second] = a
      state.directories[a.directory]?.set(a.name, secondFile)
      state.directories[b.directory]?.set(b.name, firstFile)
    }
  }

  /// Makes the number of a file stand for the object that it was saved as.
  func becomeObject(_ inode: InodeNumber, _ ordinal: TableOrdinal, _ key: ObjKey) {
    state.withLock { state in
      if let place = state.places[inode] {
        unlink(place, &state)
        // The object has its own name again.
        state.directories[place.directory]?.aside[key] = nil
      }
      nodes.replace(inode, by: ObjectNode(inode, ordinal, key))
    }
  }

  @discardableResult
  private func unlink(_ place: Place, _ state: inout State) -> MemoryFile? {
    guard let file = state.directories[place.directory]?.files[place.name] else { return nil }
    state.directories[place.directory]?.set(place.name, nil)
    state.places[file.inode] = nil
    // Where a name was moved to a file that is gone, the object has its own name again.
    for (directory, content) in state.directories where content.aside.values.contains(file.inode) {
      state.directories[directory]?.aside = content.aside.filter { $0.value != file.inode }
    }
    nodes.unpin(file.inode)
    return file
  }

  // MARK: objects

  /// Makes a file at `place` with the text of an object, whose own name is hidden as long as the file stays. False if
  /// memory is short.
  func setAside(
    _ key: ObjKey,
    in directory: InodeNumber,
    to place: Place,
    _ text: [UInt8],
    _ metadata: MemoryFile.Metadata
  ) -> Bool {
    makeFile(at: place, metadata, .file, .object, false, hiding: (directory, key)) { ChunkedBytes(text, $0) } != nil
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

  /// The files that have the names of objects, which are hidden meanwhile.
  var filesOfHiddenObjects: Set<InodeNumber> {
    state.withLock { state in Set(state.directories.values.flatMap(\.aside.values)) }
  }

  /// The directories that have files.
  var directoriesWithFiles: [InodeNumber] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { state in state.directories.filter { !$0.value.files.isEmpty }.map(\.key) }
  }

  /// Remembers the name by which an object was created.
  func addAlias(_ name: [UInt8], of key: ObjKey, in directory: InodeNumber) {
    isUsed.store(true, ordering: .releasing)
    hasAliases.store(true, ordering: .releasing)
    state.withLock { state in
      state.directories[directory, default: Directory()].aliases[name] = key
      state.directories[directory, default: Directory()].aliased.insert(key)
    }
  }

  /// The object that was created by this name.
  func alias(_ name: [UInt8], in directory: InodeNumber) -> ObjKey? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { $0.directories[directory]?.aliases[name] }
  }

  /// True if an object was created by a name that is not its own.
  func hasAlias(of key: ObjKey, in directory: @autoclosure () -> InodeNumber?) -> Bool {
    guard hasAliases.load(ordering: .acquiring), let directory = directory() else { return false }
    return state.withLock { $0.directories[directory]?.aliased.contains(key) ?? false }
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
        unlink(Place(directory: directory, name: name), &state)
      }
      state.directories[directory] = nil
    }
  }
}
