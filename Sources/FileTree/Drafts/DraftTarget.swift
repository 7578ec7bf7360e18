// Targets of drafts. `apply` writes a text to a transaction. A check rolls the transaction back and a save commits it,
// so the two cannot disagree.

import RealmPages

/// A part of the realm that a draft changes, or a command.
protocol DraftTarget: Sendable {
  /// The name of the operation in `.realm/errors`.
  var operation: String { get }
  /// The kind of text that the target accepts.
  var form: TextForm { get }
  /// Returns the path of the target as users see it, and the place where its refused text is kept; nil if the target
  /// has no name.
  func shownPlace(_ tree: TreeContext) -> ShownPlace?
  /// Like `shownPlace(_:)`, but falls back to `name`, the last known name of the target, if the target no longer
  /// exists.
  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace?
}

/// A text that is applied to a target: to check it, or to save it.
struct TextApplication {
  let text: DraftText
  /// The version on which the transaction is based.
  let view: VersionView
  let tree: TreeContext
}

/// A part of the realm whose content is a text.
protocol TextTarget: DraftTarget {
  /// True if an empty text is valid, so that an emptied file is saved.
  var takesNothing: Bool { get }
  /// True if `-o group_commit` may delay the sync of the commit.
  var mayWait: Bool { get }

  /// Returns the place of the text if the realm already contains it, so that nothing needs to be saved; otherwise nil.
  func stored(_ text: DraftText, _ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> SavedAs?
  /// Writes the text to a transaction on the version of `save.view`.
  func apply(_ save: TextApplication, to transaction: borrowing WriteTransaction) throws(FileTreeError) -> Applied
  /// Updates the state of the tree after the text was committed.
  func noteSaved(_ applied: Applied, _ text: DraftText, _ tree: TreeContext) throws(FileTreeError)
}

/// A file that runs a command when it is written.
protocol CommandTarget: DraftTarget {
  /// True if truncating the file to 0 runs the command, too.
  var obeysTruncation: Bool { get }
  /// Runs the command.
  func perform(_ text: DraftText, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError)
}

extension DraftTarget {
  var operation: String { "save" }
  var form: TextForm { .object }
  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace? { shownPlace(tree) }

  /// True if an empty text is valid.
  var takesEmptyText: Bool { (self as? any TextTarget)?.takesNothing ?? false }
}

extension TextTarget {
  var takesNothing: Bool { false }
  var mayWait: Bool { true }

  func stored(_ text: DraftText, _ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> SavedAs? { nil }

  func noteSaved(_ applied: Applied, _ text: DraftText, _ tree: TreeContext) throws(FileTreeError) {}
}

extension CommandTarget {
  var form: TextForm { .command }
  var obeysTruncation: Bool { false }
}

/// The changes that a text made in a transaction.
struct Applied {
  let effect: Effect
  /// The place of the text after the commit.
  let place: SavedAs.Place
  /// True if the text created an object.
  var isNew = false
  /// The required properties of a new object that the text omits; they have their default values.
  var defaulted: [ColKey] = []
  /// For lines, the number of lines.
  var lineCount = 0
}

/// The place of a saved draft, and whether the save changed the realm.
struct SavedAs: Sendable {
  enum Place: Sendable {
    /// The text of an object.
    case object(TableOrdinal, ObjKey)
    /// The text of a computed file. Later writes to the draft are saved to this target.
    case computed(any DraftTarget)
    /// No place: the text is not stored.
    case nothing
  }

  let place: Place
  var hasChanged = true

  static let nothing = SavedAs(place: .nothing)
}

/// The path of a target as users see it, and the place where its refused text is kept.
struct ShownPlace {
  let path: String
  /// Nil if refused texts are not kept.
  let rejected: RejectedText?
}

/// The command that compacts the realm file.
struct CompactTarget: CommandTarget {
  var operation: String { "compact" }

  func perform(_ text: DraftText, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) {
    switch String(decoding: try text.bytes, as: UTF8.self).filter({ !$0.isWhitespace }) {
    case "1": try saver.compact()
    case "0": break
    default: throw .refused(.invalid, "write 1 to compact the realm")
    }
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? { ShownPlace(path: ".realm/compact", rejected: nil) }
}
