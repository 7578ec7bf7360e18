// One version as a file of its own, in the form that copies and compactions have: front to back, no free space, the top
// ref at the end. Source: docs/format/3-commit.md 3.9.

/// Writes a version to a new file.
struct VersionWriter {
  let arena: Arena
  /// The version's top array; 0 for a realm without content.
  let topRef: Int
  /// The format that the copy is in; nodes are copied as they are.
  let format: Int
  /// Whether the history goes with it. Without it the copy is a local realm without commits.
  var keepsHistory = true

  private typealias Slots = Layout.Top

  /// The version as `snapshot` shows it.
  init(_ snapshot: Snapshot, keepsHistory: Bool = true) {
    self.init(snapshot.arena, topRef: snapshot.top.ref, format: snapshot.fileFormat, keepsHistory: keepsHistory)
  }

  /// The version that the tables of `group` are now, in `format`. It is in no file yet.
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

  /// Writes everything to `file`, which is empty. The observer learns that about `expected` bytes will come.
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
    // The copy may be read next, and so much memory be needed for that.
    arena.space.dropPages()
  }

  /// Writes all nodes; where the top array is.
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
    // The size is part of what decides it.
    var end = output.position, width: UInt8 = 0
    repeat {
      elements[Slots.logicalSize] = Int64(end) << 1 | 1
      width = elements.reduce(width) { max($0, PackedBits.width($1)) }
      end = output.position + Node.headerSize + (elements.count * Int(width) / 8 + 7) & ~7
    } while elements[Slots.logicalSize] != Int64(end) << 1 | 1
    return try copier.put(elements[...], .hasRefs, width: max(width, 8))
  }

  /// The elements of the top array that the copy has too.
  private func top(_ path: String) throws(EngineError) -> [Int64] {
    try EngineError.locating(at: path) { () throws(EngineError) in
      let node = try arena.refs(topRef, slots: 3)
      // Evacuation is about a file's own space.
      let count = min(node.count, keepsHistory ? Slots.evacuation : Slots.historyType)
      var elements: [Int64] = []
      for slot in 0..<count { elements.append(try node.int(slot)) }
      for slot in [Slots.names, Slots.tables, Slots.history] where slot < count { _ = try node.child(slot) }
      return elements
    }
  }
}
