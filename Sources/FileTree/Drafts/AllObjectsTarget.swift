// Drafts of `.all.jsonl`: the objects of a class as JSON Lines. Each line is saved as the object with its primary key.

import RealmJSON
import RealmPages

/// The objects of a class, written as JSON Lines.
struct AllObjectsTarget: TextTarget {
  let ordinal: TableOrdinal

  var form: TextForm { .lines }

  func apply(_ save: TextApplication, to transaction: borrowing WriteTransaction) throws(FileTreeError) -> Applied {
    let directory = try save.view.existing(ordinal), table = directory.table.key, tree = save.tree
    try directory.checkIsWritable()
    // In a check, a link may refer to an object in a line that has not been written yet.
    let links = save.text.isCheck ? nil : tree.saves.missingLinks
    let (effect, count) = try Self.apply(save.text, to: table, tree.options.write, transaction, links: links)
    return Applied(effect: effect, place: .computed(self), lineCount: count)
  }

  /// Applies the lines in order. A link may refer to an object in a later line, so lines with links to missing objects
  /// are applied a second time after the last line. `links` determines how links to objects that are still missing then
  /// are handled; nil omits the second pass.
  private static func apply(
    _ text: DraftText,
    to table: TableKey,
    _ mode: WriteMode,
    _ transaction: borrowing WriteTransaction,
    links: MissingLinks?
  ) throws(FileTreeError) -> (Effect, lineCount: Int) {
    let applier = RecordApplier<(line: Int, range: Range<Int>)>(mode: mode, remaining: links ?? .leaveOut)
    let lines = text.text
    var touched: [ObjectReference] = []
    var hasChanged = false
    var reader = lines.lines, number = text.firstLine - 1
    while let (range, line) = try reader.next() {
      number += 1
      if line.allSatisfy(\.isJSONSpace) { continue }
      let outcome = try read(Array(line), number) { (text) throws(InputError) in
        try applier.apply(text, at: (number, range), to: .upsert, of: table, in: transaction)
      }
      if outcome.hasChanged || outcome.wasCreated {
        hasChanged = true
        if touched.count <= Effect.maxTouched { touched.append(ObjectReference(table: table, key: outcome.object)) }
      }
    }
    for record in links == nil ? [] : applier.waiting {
      let outcome = try read(lines.copy(record.place.range), record.place.line) { (text) throws(InputError) in
        try applier.finish(record, text, in: transaction)
      }
      if outcome.hasChanged, touched.count <= Effect.maxTouched { touched.append(record.object) }
      hasChanged = hasChanged || outcome.hasChanged
    }
    let lineCount = number - text.firstLine + 1
    if !hasChanged { return (.none, lineCount) }
    // An object whose line was applied twice is in the list twice.
    var known: Set<ObjectReference> = []
    let replaced = touched.suffix(Trash.maxTexts).filter { known.insert($0).inserted }
    return (Effect(touched: touched.count > Effect.maxTouched ? nil : touched, replaced: replaced), lineCount)
  }

  private static func read(
    _ line: [UInt8],
    _ number: Int,
    _ apply: (JSONText) throws(InputError) -> PatchOutcome
  ) throws(FileTreeError) -> PatchOutcome {
    do { return try apply(JSONText(line, firstLine: number)) } catch {
      throw FileTreeError(error)
    }
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? {
    ShownPlace(
      path: tree.namespace.shownName(of: ordinal) + "/.all.jsonl",
      rejected: RejectedText(ordinal: ordinal, name: Array(".all.jsonl".utf8))
    )
  }
}

extension UInt8 {
  fileprivate var isJSONSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}
