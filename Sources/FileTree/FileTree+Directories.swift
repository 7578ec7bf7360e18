// Listings. Each call continues behind the position it is given, in the newest version, so a listing of any length is
// complete for all objects that exist from its start to its end, whatever is committed meanwhile.

import RealmJSON
import RealmPages
import Synchronization

extension FileTree {
  /// Opens a directory for listing.
  ///
  /// - Throws: `notADirectory`, `stale`.
  public func openDirectory(_ inode: InodeNumber) throws(FileTreeError) -> DirectoryStream {
    let node = try node(inode)
    switch node {
    case .fixed(let fixed):
      guard fixed.isDirectory else { throw .notADirectory }
      return DirectoryStream(inode, node)
    case .table(let ordinal):
      let interest = try read { view throws(FileTreeError) in try view.existing(ordinal).interest }
      return DirectoryStream(inode, node, budget: listingBudget, interest: interest)
    case .rejectedDirectory: return DirectoryStream(inode, node)
    case .schemaFile, .object, .memory: throw .notADirectory
    }
  }

  /// Gives entries from `position` (0: the start) on to `sink` until it is full; none means the end.
  ///
  /// With `attributes` each entry comes with them, and counts as one lookup of its inode, as far as the stream's budget
  /// goes and the object is not damaged. An error is thrown only when no entry came before it.
  ///
  /// - Throws: `damaged` where the names of objects cannot be read; `stale` when the class is gone.
  public func readDirectory<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink
  ) throws(FileTreeError) {
    switch stream.node {
    case .fixed(let fixed): try list(fixed, from: position, attributes: attributes, into: &sink)
    case .table(let ordinal):
      try list(ordinal, stream, from: position, attributes: attributes, into: &sink)
    case .rejectedDirectory:
      sink.reset()
      if Self.addDots(stream.inode, .rejected, from: position, into: &sink) {
        _ = addMemory(stream.inode, from: position, into: &sink)
      }
    case .schemaFile, .object, .memory: throw .notADirectory
    }
  }

  /// Adds the files in memory of a directory as far as they lie behind `position`; false if one does not fit.
  func addMemory<Sink: DirectorySink>(_ directory: InodeNumber, from position: UInt64, into sink: inout Sink) -> Bool {
    let files = overlay.files(in: directory, after: DirectoryStream.Position.memory(position) ?? 0)
    for (name, number, file) in files {
      let next = DirectoryStream.Position.after(memory: number)
      guard Self.add(name, file.inode, .file, nil, next: next, to: &sink) else { return false }
    }
    return true
  }

  // MARK: objects

  /// What one call gathers and what becomes valid only with it.
  private struct Batch {
    var newTexts: [TextCache.Item] = []
    /// References of hashed inodes, to be taken back if the batch is thrown away.
    var references: [InodeNumber] = []
    var count = 0
    var withAttributes = 0
    var lastKey = ObjKey.none
  }

  private func list<Sink: DirectorySink>(
    _ ordinal: TableOrdinal,
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink
  ) throws(FileTreeError) {
    var state = stream.state.withLock { $0 }
    var batch = Batch()
    do {
      try read { view throws(FileTreeError) in
        undo(&batch, &sink)
        let directory = try view.existing(ordinal)
        if state.interest != directory.interest {
          state.interest = directory.interest
          state.budget = listingBudget
        }
        var lister = Lister(tree: self, view: view, directory: directory, budget: attributes ? state.budget : 0)
        let parent: TreeNode.Fixed = directory.place == .tables ? .tablesDirectory : .root
        guard Self.addDots(directory.inode, parent, from: position, into: &sink) else { return }
        if DirectoryStream.Position.memory(position) == nil {
          let key = DirectoryStream.Position.key(position, state)
          guard try lister.list(after: key, into: &sink, &batch) else { return }
        }
        _ = addMemory(directory.inode, from: position, into: &sink)
      }
    } catch {
      undo(&batch, &sink)
      damageLog.note(error)
      throw error
    }
    texts.insert(batch.newTexts)
    state.budget -= batch.withAttributes
    if batch.lastKey > DirectoryStream.Position.lastSpelledKey { state.lastKey = batch.lastKey }
    stream.state.withLock { [state] in $0 = state }
  }

  private func undo<Sink: DirectorySink>(_ batch: inout Batch, _ sink: inout Sink) {
    for inode in batch.references { forget(inode, lookups: 1) }
    batch = Batch()
    sink.reset()
  }

  /// The loop over the objects of one table.
  private struct Lister {
    let tree: FileTree
    let view: VersionView
    let directory: TableDirectory
    var budget: Int
    /// Objects whose names are not listed.
    private let aside: Set<ObjKey>

    init(tree: FileTree, view: VersionView, directory: TableDirectory, budget: Int) {
      self.tree = tree
      self.view = view
      self.directory = directory
      self.budget = budget
      aside = tree.overlay.aside(in: directory.inode)
    }

    /// Whether the end was reached.
    mutating func list<Sink: DirectorySink>(
      after key: ObjKey,
      into sink: inout Sink,
      _ batch: inout Batch
    ) throws(FileTreeError) -> Bool {
      do {
        return try view.benches.lend { bench throws(FormatError) in
          let cursor = ObjectCursor(directory.table)
          var exists = try cursor.seek(after: key)
          while exists {
            if aside.isEmpty || !aside.contains(cursor.key) {
              guard try add(cursor, bench, to: &sink, &batch) else { return false }
            }
            exists = try cursor.next()
          }
          return true
        }
      } catch {
        // What came before the damage is good; the next call meets the damage first.
        if batch.count == 0 { throw tree.damaged(directory, error) }
        return false
      }
    }

    /// Adds the object that `cursor` stands on; false if it does not fit.
    @inline(__always)
    private mutating func add<Sink: DirectorySink>(
      _ cursor: ObjectCursor,
      _ bench: Workbench,
      to sink: inout Sink,
      _ batch: inout Batch
    ) throws(FormatError) -> Bool {
      try directory.name(of: cursor, into: bench.name)
      bench.name.append(0)
      let key = cursor.key
      var inode = tree.number(directory, key)
      var attributes: FileAttributes?
      if budget > 0, let size = size(of: inode, cursor, bench, &batch) {
        attributes = view.attributes(of: inode, in: directory, size: size)
        if inode.isHashed {
          inode = tree.inodes.retain(directory.ordinal, key)
          attributes?.inode = inode
          batch.references.append(inode)
        }
      }
      let name = bench.name.unsafeBytes
      let fits = sink.add(
        name.bytes.extracting(droppingLast: 1),
        inode,
        .file,
        attributes,
        next: DirectoryStream.Position.after(key)
      )
      guard fits else {
        if attributes != nil, inode.isHashed, let reference = batch.references.popLast() {
          tree.forget(reference, lookups: 1)
        }
        return false
      }
      batch.count += 1
      batch.lastKey = key
      if attributes != nil {
        budget -= 1
        batch.withAttributes += 1
      }
      return true
    }

    /// The size of the text; nil if the object is damaged. The text is remembered even if its entry does not fit,
    /// because then it is the first of the next batch.
    @inline(__always)
    private func size(
      of inode: InodeNumber,
      _ cursor: ObjectCursor,
      _ bench: Workbench,
      _ batch: inout Batch
    ) -> Int? {
      let generation = directory.stamp.generation
      if let size = tree.texts.size(of: inode, generation) { return size }
      do {
        let text = try bench.render(cursor)
        batch.newTexts.append(TextCache.Item(inode: inode, generation: generation, text: text))
        return text.count
      } catch {
        return nil  // `open` tells the reason, to whoever wants the object.
      }
    }
  }

  // MARK: the few others

  /// Adds `.` and `..` as far as they lie behind `position`; false if one does not fit.
  static func addDots<Sink: DirectorySink>(
    _ inode: InodeNumber,
    _ parent: TreeNode.Fixed,
    from position: UInt64,
    into sink: inout Sink
  ) -> Bool {
    if position < DirectoryStream.Position.afterDot,
      !add(".", inode, .directory, nil, next: DirectoryStream.Position.afterDot, to: &sink)
    {
      return false
    }
    if position < DirectoryStream.Position.afterDotDot,
      !add("..", InodeNumber(parent.rawValue), .directory, nil, next: DirectoryStream.Position.afterDotDot, to: &sink)
    {
      return false
    }
    return true
  }

  static func add<Sink: DirectorySink>(
    _ name: some Sequence<UInt8>,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64,
    to sink: inout Sink
  ) -> Bool {
    let terminated = Array(name) + [0]
    return sink.add(terminated.span.bytes.extracting(droppingLast: 1), inode, kind, attributes, next: next)
  }

  static func add<Sink: DirectorySink>(
    _ name: StaticString,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64,
    to sink: inout Sink
  ) -> Bool {
    add(name.description.utf8, inode, kind, attributes, next: next, to: &sink)
  }
}
