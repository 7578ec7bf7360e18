// `.all.jsonl` and `.all.csv`: the objects of a directory in one file, as `realmfs cat` and `export` print them. It is
// made while it is read. Its size is that of all lines, which are made once for it and, after a commit, where something
// changed (`LineSizes`); for what a query finds, once for each version that somebody asks for.
//
// Writing `.all.jsonl`, from the start or behind its end, saves the lines that are written, each by the primary key in
// it, in one commit. Objects that no line names stay as they are.

import RealmJSON
import RealmPages
import RealmQuery

/// The file `.all.jsonl` or `.all.csv`.
struct AllObjectsNode: FileNode {
  let inode: InodeNumber
  let selection: ObjectSelection
  let form: ObjectLines.Form

  /// Whether writing it saves objects.
  private var takesText: Bool { form == .jsonl && selection.conditions.isEmpty }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    do throws(FileTreeError) { return try attributes(size: size(tree), tree) } catch {
      // `open` tells the reason. Files of a frozen tree are not opened.
      guard case .refused = error, !tree.options.isFrozen else { throw error }
      return try attributes(size: 0, tree)
    }
  }

  func entryAttributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    // Programs that append lines never ask for the size. Once somebody has asked, it costs little, and an answer of 0
    // could overtake the right one that another program waits for.
    let isCostly = selection.isWhole && !tree.options.isFrozen && !tree.views.lineSizes.isCounted(counted)
    return try isCostly ? attributes(size: 0, tree) : attributes(tree)
  }

  private var counted: LineSizes.Text { LineSizes.Text(ordinal: selection.ordinal, form: form) }

  private func attributes(size: Int, _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      let attributes = view.rules.file(inode, size: size, try view.existing(selection.ordinal).stamp.touched).uncached
      return takesText ? attributes : attributes.readOnly
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    selection.conditions.isEmpty
      ? tree.shownName(of: selection.ordinal) + "/.all.\(form == .csv ? "csv" : "jsonl")" : nil
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates {
      guard tree.saver != nil else { throw .readOnly }
      // Whatever the file shows, the lines that are written are all there is to save.
      return try tree.openDraft(of: inode, [], draftTarget(tree), access, by: caller) { [] }
    }
    let text = try text(tree)
    let stream = try text.stream { [self] in
      // A program that asks for the size of what it cannot read is told that of the newest version.
      try? size(of: text, tree)
    }
    return OpenFile(inode, tree.openFiles.openStream(inode, stream, for: caller.process), stream: stream)
  }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget { try target(tree).lines }

  /// A program that replaces the file has changed lines of objects that are there. Without a primary key they would all
  /// be made once more.
  func replacementTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    let (lines, hasKey) = try target(tree)
    if hasKey { return lines }
    throw .refused(
      .forbidden,
      "without a primary key its lines are new objects: append them with >>, and change objects in their own files"
    )
  }

  /// What lines change that are written, and whether the class has a primary key, by which they name objects.
  private func target(_ tree: TreeContext) throws(FileTreeError) -> (lines: AllObjectsTarget, hasKey: Bool) {
    guard takesText else {
      throw .refused(.forbidden, "this file is read-only; write objects to .all.jsonl of their class")
    }
    return try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(selection.ordinal)
      try directory.checkIsWritable()
      return (AllObjectsTarget(ordinal: selection.ordinal), directory.table.primaryKey != nil)
    }
  }

  /// The text in the newest version, or in the one that the tree shows for good.
  private func text(_ tree: TreeContext) throws(FileTreeError) -> ObjectsText {
    // The objects are found in the version that is then read.
    var (hold, table, name) = try tree.held(selection.ordinal), view = try tree.read { view in view }
    for _ in 0..<Self.attempts where view.snapshot !== hold.snapshot {
      (hold, table, name) = try tree.held(selection.ordinal)
      view = try tree.read { view in view }
    }
    return ObjectsText(
      hold: hold,
      table: table,
      name: name,
      view: view.snapshot === hold.snapshot ? view : nil,
      selection: selection,
      form: form,
      tree: tree
    )
  }

  private var identity: NodeIdentity { selection.identity(of: Self.self, [form == .csv ? 1 : 0]) }

  private func size(_ tree: TreeContext) throws(FileTreeError) -> Int {
    if let size = try tree.read({ view in view.streamSizes.size(of: identity) }) { return size }
    for _ in 0..<Self.attempts {
      do throws(FileTreeError) { return try size(of: try text(tree), tree) } catch {
        // The version could not be held, and was overwritten.
        guard case .stale = error, tree.views.isFollowing else { throw error }
      }
    }
    throw .busy
  }

  /// How often what commits overtake is tried again.
  private static let attempts = 10

  private func size(of text: ObjectsText, _ tree: TreeContext) throws(FileTreeError) -> Int {
    if let size = text.view?.streamSizes.size(of: identity) { return size }
    let size: Int
    if let counted = try text.countedSize() {
      size = counted
    } else {
      // In a frozen tree the kernel reads no further than the size says, so nobody would meet the error.
      size = try text.stream(measure: nil).makeAll(mustBeWhole: tree.options.isFrozen)
    }
    text.view?.streamSizes.note(size, of: identity)
    return size
  }
}

/// The lines of objects in one version, which is held.
private struct ObjectsText: Sendable {
  let hold: VersionHold
  let table: Table
  let name: String
  /// The view of the version, unless another one came before it was seen.
  let view: VersionView?
  let selection: ObjectSelection
  let form: ObjectLines.Form
  let tree: TreeContext

  private func lines() throws(FileTreeError) -> ObjectLines {
    let keys = try selection.keys(table, hold.snapshot, name, tree.options)
    return try ObjectLines(hold, table, keys, form, tree.options.json)
  }

  /// The lines to be read.
  func stream(measure: (@Sendable () -> Int?)?) throws(FileTreeError) -> StreamedText {
    StreamedText(try lines(), place: name, tree.realm, log: tree.damageLog, measure: measure)
  }

  /// The size, if it follows from what was counted before; nil if all lines must be made.
  func countedSize() throws(FileTreeError) -> Int? {
    guard selection.isWhole, let directory = view?.directory(selection.ordinal) else { return nil }
    let text = LineSizes.Text(ordinal: selection.ordinal, form: form), realm = tree.realm
    return tree.views.lineSizes.size(of: text, directory.stamp.generation, try lines()) {
      realm.isCurrent(hold.snapshot)
    }
  }
}
