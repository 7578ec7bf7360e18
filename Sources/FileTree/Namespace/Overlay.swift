// The entries layered over the tree of the realm: files in memory, objects whose name is set aside, and additional
// names of objects.
//
// Invariant: the inode number of a file in memory is never used again. If the file is saved as an object, its number
// refers to the object as long as the kernel remembers it.

import RealmPages
import Synchronization

/// The names and inode numbers of files in memory.
final class Overlay: Sendable {
  /// A place in the tree.
  struct Place: Hashable {
    let directory: InodeNumber
    let name: [UInt8]
  }

  fileprivate struct Directory {
    private(set) var files: [[UInt8]: MemoryFile] = [:]
    /// The files in the order of their numbers. Also contains stale entries, whose names no longer belong to a file
    /// with that number.
    private var order: [(number: UInt64, name: [UInt8])] = []
    /// Objects whose name is set aside, and the files that contain their texts.
    var aside: [ObjKey: InodeNumber] = [:]
    /// Names under which objects were created, or to which they were renamed, in a class without primary key.
    var aliases: [[UInt8]: ObjKey] = [:]
    /// The objects that have or had such a name.
    var aliased: Set<ObjKey> = []

    var isEmpty: Bool { files.isEmpty && aside.isEmpty && aliases.isEmpty }

    /// Sets the file of a name; nil removes the name.
    mutating func set(_ name: [UInt8], _ file: MemoryFile?) {
      files[name] = file
      guard let number = file?.inode.value else {
        // Amortized, each removal costs one step of this.
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

    /// Returns up to `limit` files with numbers above `number`, in the order of their numbers.
    func files(after number: UInt64, limit: Int) -> [(name: [UInt8], file: MemoryFile)] {
      var found: [(name: [UInt8], file: MemoryFile)] = []
      for entry in order[index(after: number)...] {
        if found.count == limit { break }
        if let file = files[entry.name], file.inode.value == entry.number { found.append((entry.name, file)) }
      }
      return found
    }

    /// Returns the first index in `order` with a larger number.
    private func index(after number: UInt64) -> Int { bisect(order.count) { order[$0].number <= number } }
  }

  fileprivate struct State {
    var directories: [InodeNumber: Directory] = [:]
    /// The places of all files in the tree.
    var places: [InodeNumber: Place] = [:]
  }

  private let state = Mutex(State())
  /// False if the overlay was never used, so that a tree without writers costs nothing.
  private let isUsed = Atomic<Bool>(false)
  /// True if any object was created under a name other than its own.
  private let hasAliases = Atomic<Bool>(false)
  private let budget: MemoryBudget
  private let nodes: NodeTable

  /// Creates an overlay whose files share `budget` and whose numbers are allocated by `nodes`.
  init(_ budget: MemoryBudget, _ nodes: NodeTable) {
    self.budget = budget
    self.nodes = nodes
  }

  // MARK: files

  /// Creates a file at `place`, replacing an existing one, and counts one lookup of it if `isKnown`. Returns nil if the
  /// memory limit is reached.
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

  /// Keeps a refused text of the file at `path`. Shares the memory of the original file as long as that exists.
  func keepRefused(_ text: ChunkedBytes, of path: String, at place: Place, _ metadata: MemoryFile.Metadata) {
    // If there is no room for the text, `.realm/errors` still reports the refusal.
    let file = makeFile(at: place, metadata, .refusedText, .object, false) { ChunkedBytes(text, $0) }
    file?.refusedPath = path
  }

  /// Drops refused texts until they occupy at most `limit` bytes: the oldest of the user whose texts occupy the most.
  /// Returns their places. Costs nothing if files in memory occupy at most `limit` bytes.
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

  /// Creates a file without a place in the tree: the bytes that a handle writes over the file `inode`. Returns nil if
  /// the memory limit is reached.
  func detachedFile(
    _ inode: InodeNumber,
    _ name: [UInt8],
    _ bytes: [UInt8],
    _ metadata: MemoryFile.Metadata,
    form: TextForm
  ) -> MemoryFile? {
    MemoryFile(inode, .edit, name, metadata, budget.share(of: metadata.owner), form) { ChunkedBytes(bytes, $0) }
  }

  /// Like `detachedFile`, but for lines. All but the latest chunks go to `spool`; nil keeps all in memory.
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

  /// Returns the file at a place.
  func file(at place: Place) -> MemoryFile? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { $0.directories[place.directory]?.files[place.name] }
  }

  /// Returns the place of a file; nil if it was unlinked.
  func place(of inode: InodeNumber) -> Place? { state.withLock { $0.places[inode] } }

  /// Returns up to `limit` files of a directory with numbers above `number`, in the order of their numbers.
  func files(in directory: InodeNumber, after number: UInt64, limit: Int) -> [(name: [UInt8], file: MemoryFile)] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { $0.directories[directory]?.files(after: number, limit: limit) ?? [] }
  }

  /// All files in the tree.
  var allFiles: [(place: Place, file: MemoryFile)] {
    state.withLock { state in
      state.directories.flatMap { directory, content in
        content.files.map { (Place(directory: directory, name: $0.key), $0.value) }
      }
    }
  }

  /// Removes a file from its directory. Returns nil if there is none. Open handles remain usable.
  func unlink(_ place: Place) -> MemoryFile? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { state in unlink(place, &state) }
  }

  /// Moves a file to another place, replacing an existing file.
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

  /// Makes the inode number of a file refer to the object that it was saved as.
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
    // If the file had the text of an object that is set aside, the object has its own name again.
    for (directory, content) in state.directories where content.aside.values.contains(file.inode) {
      state.directories[directory]?.aside = content.aside.filter { $0.value != file.inode }
    }
    nodes.unpin(file.inode)
    return file
  }

  // MARK: objects

  /// Creates a file at `place` with the text of an object, and hides the object's own name as long as the file exists.
  /// Returns false if the memory limit is reached.
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
  func showName(_ key: ObjKey, in directory: InodeNumber) {
    if !isUsed.load(ordering: .acquiring) { return }
    state.withLock { $0.directories[directory]?.aside[key] = nil }
  }

  /// True if the own name of an object is hidden.
  func isAside(_ key: ObjKey, in directory: InodeNumber) -> Bool {
    if !isUsed.load(ordering: .acquiring) { return false }
    return state.withLock { $0.directories[directory]?.aside[key] != nil }
  }

  /// Returns the objects of a directory whose own names are hidden.
  func aside(in directory: InodeNumber) -> Set<ObjKey> {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { state in state.directories[directory].map { Set($0.aside.keys) } ?? [] }
  }

  /// The files with the texts of objects whose own names are hidden.
  var filesOfHiddenObjects: Set<InodeNumber> {
    state.withLock { state in Set(state.directories.values.flatMap(\.aside.values)) }
  }

  /// The directories with files in memory.
  var directoriesWithFiles: [InodeNumber] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return state.withLock { state in state.directories.filter { !$0.value.files.isEmpty }.map(\.key) }
  }

  /// Records the name under which an object was created.
  func addAlias(_ name: [UInt8], of key: ObjKey, in directory: InodeNumber) {
    isUsed.store(true, ordering: .releasing)
    hasAliases.store(true, ordering: .releasing)
    state.withLock { state in
      state.directories[directory, default: Directory()].aliases[name] = key
      state.directories[directory, default: Directory()].aliased.insert(key)
    }
  }

  /// Returns the object that was created under a name.
  func alias(_ name: [UInt8], in directory: InodeNumber) -> ObjKey? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return state.withLock { $0.directories[directory]?.aliases[name] }
  }

  /// True if an object was created under a name other than its own.
  func hasAlias(of key: ObjKey, in directory: @autoclosure () -> InodeNumber?) -> Bool {
    guard hasAliases.load(ordering: .acquiring), let directory = directory() else { return false }
    return state.withLock { $0.directories[directory]?.aliased.contains(key) ?? false }
  }

  /// Forgets a name that no longer refers to an object.
  func removeAlias(_ name: [UInt8], in directory: InodeNumber) {
    state.withLock { $0.directories[directory]?.aliases[name] = nil }
  }

  /// True if a directory has neither files in memory nor hidden objects.
  func isEmpty(_ directory: InodeNumber) -> Bool {
    state.withLock { $0.directories[directory].map { $0.files.isEmpty && $0.aside.isEmpty } ?? true }
  }

  /// Removes a deleted directory, with its content.
  func remove(_ directory: InodeNumber) {
    state.withLock { state in
      for name in (state.directories[directory]?.files ?? [:]).keys {
        unlink(Place(directory: directory, name: name), &state)
      }
      state.directories[directory] = nil
    }
  }
}
