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
      return try tree.openEdit(of: inode, [], saveTarget(tree), access, by: caller) { [] }
    }
    let text = try text(tree)
    let stream = try text.stream { [self] in
      // A program that asks for the size of what it cannot read is told that of the newest version.
      try? size(of: text, tree)
    }
    return OpenFile(inode, tree.openFiles.openStream(inode, stream, for: caller.process), stream: stream)
  }

  func saveTarget(_ tree: TreeContext) throws(FileTreeError) -> any SaveTarget { try target(tree).lines }

  /// A program that replaces the file has changed lines of objects that are there. Without a primary key they would all
  /// be made once more.
  func replacementTarget(_ tree: TreeContext) throws(FileTreeError) -> any SaveTarget {
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
      throw .refused(.forbidden, "this file is only read; objects are written in .all.jsonl of their class")
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

/// The objects of a class that lines of JSON tell.
struct AllObjectsTarget: SaveTarget {
  let ordinal: TableOrdinal

  var form: TextForm { .lines }

  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs {
    let table = try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      try directory.checkIsWritable()
      return directory.table.key
    }
    try tree.saveKeepingTexts(saver) { transaction throws(FileTreeError) in
      try Self.apply(request.text, to: table, tree.options.write, transaction, links: tree.missingLinks)
    }
    return .computed(self, hasChanged: true)
  }

  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    // The objects that links lead to may be in lines that are still to come.
    guard let text = ChunkedBytes(bytes, MemoryBudget(.max)) else { throw .memoryIsShort }
    _ = try Self.apply(
      text,
      to: try view.existing(ordinal).table.key,
      tree.options.write,
      transaction,
      links: nil
    )
  }

  /// Applies the lines in their order; links may lead to objects of later lines, so lines with such links come twice.
  /// `links` says what those are that lead to nothing then; nil does not look at them.
  private static func apply(
    _ lines: ChunkedBytes,
    to table: TableKey,
    _ mode: WriteMode,
    _ transaction: borrowing WriteTransaction,
    links: MissingLinks?
  ) throws(FileTreeError) -> Effect {
    let patcher = ObjectPatcher(mode: mode, missingLinks: .leaveOut)
    var touched: [ObjectReference] = []
    var waiting: [(line: Int, range: Range<Int>, object: ObjKey)] = []
    var hasChanged = false
    var reader = lines.lines, number = 0
    while let (range, line) = try reader.next() {
      number += 1
      if line.allSatisfy(\.isJSONSpace) { continue }
      let outcome = try apply(Array(line), number, to: .upsert, of: table, patcher, transaction)
      if outcome.missingLinks > 0, links != nil { waiting.append((number, range, outcome.object)) }
      if outcome.hasChanged || outcome.wasCreated {
        hasChanged = true
        if touched.count <= Effect.mostTouched { touched.append(ObjectReference(table: table, key: outcome.object)) }
      }
    }
    let strict = ObjectPatcher(mode: mode, missingLinks: links ?? .leaveOut)
    for line in waiting {
      let text = try lines.copy(line.range)
      let outcome = try apply(text, line.line, to: .object(line.object), of: table, strict, transaction)
      if outcome.hasChanged, touched.count <= Effect.mostTouched {
        touched.append(ObjectReference(table: table, key: line.object))
      }
      hasChanged = hasChanged || outcome.hasChanged
    }
    if !hasChanged { return .none }
    // Of lines with links to later lines, the objects are there twice.
    var known: Set<ObjectReference> = []
    let replaced = touched.suffix(Trash.mostTexts).filter { known.insert($0).inserted }
    return Effect(touched: touched.count > Effect.mostTouched ? nil : touched, replaced: replaced)
  }

  private static func apply(
    _ line: [UInt8],
    _ number: Int,
    to goal: PatchTarget,
    of table: TableKey,
    _ patcher: ObjectPatcher,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> PatchOutcome {
    do throws(JSONInputError) {
      return try patcher.apply(try JSONText(line, firstLine: number), to: goal, of: table, in: transaction)
    } catch { throw FileTreeError(error) }
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? {
    ShownPlace(
      path: tree.shownName(of: ordinal) + "/.all.jsonl",
      rejected: RejectedText(ordinal: ordinal, name: Array(".all.jsonl".utf8))
    )
  }
}

extension UInt8 {
  fileprivate var isJSONSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}
