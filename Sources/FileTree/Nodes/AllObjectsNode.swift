// `.all.jsonl` and `.all.csv`: the objects of a directory in one file, as `realmfs cat` and `export` print them. It is
// made while it is read, so its size is not known: stat shows 0, as for the files of /proc, and programs read to the
// end. In a frozen tree, whose files are read without being opened, it is made once for its size.
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
    let size = tree.options.isFrozen ? try frozenSize(tree) : 0
    return try tree.read { view throws(FileTreeError) in
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
    let stream = try stream(tree)
    return OpenFile(inode, tree.openFiles.openStream(inode), stream: stream)
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

  private func stream(_ tree: TreeContext) throws(FileTreeError) -> StreamedText {
    // The objects are found in the version that is then read.
    let (hold, table, name) = try tree.held(selection.ordinal)
    let keys = try selection.keys(table, hold.snapshot, name, tree.options)
    let lines = try ObjectLines(hold, table, keys, form, tree.options.json)
    return StreamedText(lines, place: name, tree.realm, log: tree.damageLog)
  }

  private func frozenSize(_ tree: TreeContext) throws(FileTreeError) -> Int {
    let identity = selection.identity(of: Self.self, [form == .csv ? 1 : 0])
    return try tree.frozenFiles.size(of: identity) { () throws(FileTreeError) in try stream(tree).measure() }
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
    try tree.saveObjects(saver) { transaction throws(FileTreeError) in
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
