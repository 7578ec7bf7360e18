// Writes one version as a separate file, in the form of copies and compacted files: front to back, no free space, the
// top ref at the end. Source: docs/format/3-commit.md 3.9.

/// Writes a version to a new file.
struct VersionWriter {
  let arena: Arena
  /// The version's top array; 0 for an empty realm.
  let topRef: Int
  /// The format of the copy; nodes are copied unchanged.
  let format: Int
  /// True if the history is copied. Without it the copy is a local realm without commits.
  var keepsHistory = true

  private typealias Slots = Layout.Top

  /// Creates a writer for the version of `snapshot`.
  init(_ snapshot: Snapshot, keepsHistory: Bool = true) {
    self.init(snapshot.arena, topRef: snapshot.top.ref, format: snapshot.fileFormat, keepsHistory: keepsHistory)
  }

  /// Creates a writer for the current state of the tables of `group`, in `format`. That version is in no file yet.
  init(_ group: GroupEditor, format: Int, keepsHistory: Bool) throws(EngineError) {
    try group.finishChanges()
    self.init(group.editor.arena, topRef: group.top, format: format, keepsHistory: keepsHistory)
  }

  private init(_ arena: Arena, topRef: Int, format: Int, keepsHistory: Bool) {
    self.arena = arena
    self.topRef = topRef
    self.format = format
    self.keepsHistory = keepsHistory
  }

  /// Writes everything to `file`, which must be empty. `expected` is the approximate size, for the observer.
  func write(
    to file: FileHandle,
    key: EncryptionKey?,
    path: String,
    expected: Int,
    observer: CopyObserver?
  ) throws(EngineError) {
    let output = try FrontToBackWriter(file, key: key)
    try output.append(Header.ofCopy(format: topRef == 0 ? 0 : format))
    let top = try writeNodes(to: output, path: path, expected: expected, observer: observer)
    if output.needsWholePages {
      let page = PageCipher.pageSize, end = output.position + Header.footerSize
      try output.append(zeros: (end + page - 1) / page * page - end)
    }
    try output.append(Header.footer(topRef: top))
    try output.finish()
    // The copy may be read next and need that memory.
    arena.space.dropPages()
  }

  /// Writes all nodes and returns the ref of the top array.
  private func writeNodes(
    to output: FrontToBackWriter,
    path: String,
    expected: Int,
    observer: CopyObserver?
  ) throws(EngineError) -> Int {
    if topRef == 0 { return 0 }
    var elements = try top(path)
    var copier = NodeCopier(arena, to: output, path: path, expected: expected, observer: observer)
    for slot in [Slots.names, Slots.tables, Slots.history] where slot < elements.count {
      elements[slot] = Int64(try copier.copy(Int(elements[slot])))
    }
    for slot in Slots.freePositions...Slots.freeVersions where slot < elements.count {
      elements[slot] = Int64(try copier.put([]))
    }
    // The logical size includes the top array, whose width depends on the logical size.
    var end = output.position, width: UInt8 = 0
    repeat {
      elements[Slots.logicalSize] = Int64(end) << 1 | 1
      width = elements.reduce(width) { max($0, PackedBits.width($1)) }
      end = output.position + Node.headerSize + (elements.count * Int(width) / 8 + 7) & ~7
    } while elements[Slots.logicalSize] != Int64(end) << 1 | 1
    return try copier.put(elements[...], .hasRefs, width: max(width, 8))
  }

  /// The elements of the top array that are copied.
  private func top(_ path: String) throws(EngineError) -> [Int64] {
    try EngineError.locating(at: path) { () throws(EngineError) in
      let node = try arena.refs(topRef, slots: 3)
      // Evacuation concerns only the space of the original file.
      let count = min(node.count, keepsHistory ? Slots.evacuation : Slots.historyType)
      var elements: [Int64] = []
      for slot in 0..<count { elements.append(try node.int(slot)) }
      for slot in [Slots.names, Slots.tables, Slots.history] where slot < count { _ = try node.child(slot) }
      return elements
    }
  }
}
