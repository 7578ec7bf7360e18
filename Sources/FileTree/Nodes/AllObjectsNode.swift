// `.all.jsonl` and `.all.csv`: the objects of a directory in one file, as `realmfs cat` and `export` print them. The
// text is generated while it is read. For a complete class, its size is computed by rendering all lines once and, after
// a commit, the changed ones (`LineSizes`); for a query, once for each version in which a program requests it.
//
// Writing `.all.jsonl`, from its start or at its end, saves the written lines in one commit; the primary key in a line
// selects its object. Objects without a line do not change.

import RealmJSON
import RealmPages
import RealmQuery

/// The file `.all.jsonl` or `.all.csv`.
struct AllObjectsNode: FileNode {
  let inode: InodeNumber
  let selection: ObjectSelection
  let form: ObjectLines.Form

  /// True if writing the file saves objects.
  private var takesText: Bool { form == .jsonl && selection.conditions.isEmpty }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    do { return try attributes(size: size(tree), tree) } catch {
      // `open` reports the reason. Files of a frozen tree are not opened.
      guard case .refused = error, !tree.options.isFrozen else { throw error }
      return try attributes(size: 0, tree)
    }
  }

  func entryAttributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    // Programs that append lines never request the size. After the first request it is cheap, and a reply of 0 could
    // overtake the correct size that another program is waiting for.
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
      ? tree.namespace.shownName(of: selection.ordinal) + "/.all.\(form == .csv ? "csv" : "jsonl")" : nil
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates {
      guard tree.drafts.saver != nil else { throw .readOnly }
      // Only the written lines are saved, regardless of the file's contents.
      return try tree.drafts.openDraft(of: inode, [], draftTarget(tree), access, by: caller) { [] }
    }
    let text = try text(tree)
    let stream = try text.stream { [self] in
      // If this version cannot be read, the program receives the size for the newest version.
      try? size(of: text, tree)
    }
    return OpenFile(inode, tree.handles.openFiles.openStream(inode, stream, for: caller.process), stream: stream)
  }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget { try target(tree).lines }

  /// Refused for a class without a primary key: a program that replaces the file has edited lines of existing objects,
  /// and without a key each line would create a new object.
  func replacementTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    let (lines, hasKey) = try target(tree)
    if hasKey { return lines }
    throw .refused(
      .forbidden,
      "without a primary key its lines are new objects: append them with >>, and change objects in their own files"
    )
  }

  /// The target that written lines change, and true if the class has a primary key, by which lines identify objects.
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

  /// The text in the newest version, or in the version of a frozen tree.
  private func text(_ tree: TreeContext) throws(FileTreeError) -> ObjectsText {
    // The view and the held version must be the same version, so that the query runs in the version that is read.
    var (hold, table, name) = try tree.selections.held(selection.ordinal), view = try tree.read { view in view }
    for _ in 0..<Self.attempts where view.snapshot !== hold.snapshot {
      (hold, table, name) = try tree.selections.held(selection.ordinal)
      view = try tree.read { view in view }
    }
    return ObjectsText(
      hold: hold,
      table: table,
      name: name,
      view: view.snapshot === hold.snapshot ? view : nil,
      selection: selection,
      form: form,
      tree: tree.lasting
    )
  }

  private var identity: NodeIdentity { selection.identity(of: Self.self, [form == .csv ? 1 : 0]) }

  private func size(_ tree: TreeContext) throws(FileTreeError) -> Int {
    if let size = try tree.read({ view in view.streamSizes.size(of: identity) }) { return size }
    for _ in 0..<Self.attempts {
      do { return try size(of: try text(tree), tree) } catch {
        // The version could not be held and was overwritten.
        guard case .stale = error, tree.views.isFollowing else { throw error }
      }
    }
    throw .busy
  }

  /// The maximum number of attempts when commits overtake a read.
  private static let attempts = 10

  private func size(of text: ObjectsText, _ tree: TreeContext) throws(FileTreeError) -> Int {
    if let size = text.view?.streamSizes.size(of: identity) { return size }
    let size: Int
    if let counted = try text.countedSize() {
      size = counted
    } else {
      // In a frozen tree the kernel never reads past the size, so a reader would not see the error.
      size = try text.stream(measure: nil).makeAll(mustBeWhole: tree.options.isFrozen)
    }
    text.view?.streamSizes.note(size, of: identity)
    return size
  }
}

/// The lines of objects in one held version.
private struct ObjectsText: Sendable {
  let hold: VersionHold
  let table: Table
  let name: String
  /// The view of the version; nil if the view had already moved to another version.
  let view: VersionView?
  let selection: ObjectSelection
  let form: ObjectLines.Form
  let tree: TreeContext

  private func lines() throws(FileTreeError) -> ObjectLines {
    let keys = try selection.keys(table, hold.snapshot, name, tree.options)
    return try ObjectLines(hold, table, keys, form, tree.options.json)
  }

  /// A stream of the lines.
  func stream(measure: (@Sendable () -> Int?)?) throws(FileTreeError) -> StreamedText {
    StreamedText(try lines(), place: name, tree.realm, log: tree.views.damageLog, measure: measure)
  }

  /// The size, if it can be derived from cached line sizes; nil if all lines must be rendered.
  func countedSize() throws(FileTreeError) -> Int? {
    guard selection.isWhole, let directory = view?.directory(selection.ordinal) else { return nil }
    let text = LineSizes.Text(ordinal: selection.ordinal, form: form), realm = tree.realm
    return tree.views.lineSizes.size(of: text, directory.stamp.generation, try lines()) {
      realm.isCurrent(hold.snapshot)
    }
  }
}
