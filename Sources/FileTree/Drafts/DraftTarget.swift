// Targets of drafts. `apply` writes a text to a transaction. A check rolls the transaction back and a save commits it,
// so the two cannot disagree.

import RealmPages

/// A part of the realm that a draft changes, or a command.
protocol DraftTarget: Sendable {
  /// The name of the operation in `.realm/errors`.
  var operation: String { get }
  /// The kind of text that the target takes.
  var form: TextForm { get }
  /// Returns the path of the target as users see it, and the place of its refused text; nil if the target has no name.
  func shownPlace(_ tree: TreeContext) -> ShownPlace?
  /// Like `shownPlace(_:)`, but falls back to `name`, which the target had, if the target is gone.
  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace?
}

/// A part of the realm whose content is a text.
protocol TextTarget: DraftTarget {
  /// True if an empty text is valid, so that an emptied file is saved.
  var takesNothing: Bool { get }
  /// True if `-o group_commit` may delay the sync of the commit.
  var mayWait: Bool { get }

  /// Returns the place of the text if the realm already has it, so that there is nothing to save; otherwise nil.
  func stored(_ text: DraftText, _ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> SavedAs?
  /// Writes the text to a transaction on the version of `view`.
  func apply(
    _ text: DraftText,
    to transaction: borrowing WriteTransaction,
    _ view: VersionView,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Applied
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
  /// The required properties of a new object that the text does not name; they have their defaults.
  var defaulted: [ColKey] = []
  /// For lines, their number.
  var lineCount = 0
}

/// The place of a saved draft, and whether the save changed the realm.
struct SavedAs: Sendable {
  enum Place: Sendable {
    /// The text of an object.
    case object(TableOrdinal, ObjKey)
    /// The text of a computed file. Later writes to the draft are saved to this target.
    case computed(any DraftTarget)
    /// Not stored anywhere.
    case nothing
  }

  let place: Place
  var hasChanged = true

  static let nothing = SavedAs(place: .nothing)
}

/// The path of a target as users see it, and the place of its refused text.
struct ShownPlace {
  let path: String
  /// Nil if refused texts are not kept.
  let rejected: RejectedText?
}

extension TreeContext {
  /// Saves a text, or runs the command in it, and returns its new place. Keeps a refused text in `.realm/rejected`.
  ///
  /// `realmFile` is the file that the text may be saved to; see `Draft.realmFile`.
  func save(
    _ text: DraftText,
    as target: any DraftTarget,
    for realmFile: Int? = nil
  ) throws(FileTreeError) -> SavedAs {
    guard let saver else { throw .readOnly }
    if let staged, staged.hasEnded { throw .stale }
    do throws(FileTreeError) {
      try checkRealm(is: realmFile)
      takeBackKept()
      let saved: SavedAs
      do throws(FileTreeError) {
        saved = try carryOut(text, target, realmFile.map(saver.saving(to:)) ?? saver)
      } catch {
        // If the realm was replaced by another file, report that instead of, say, an object that the new file lacks.
        try checkRealm(is: realmFile)
        throw error
      }
      // Editors write the former text back after a refusal. That text must not drop the refused one.
      if saved.hasChanged { clearRefusal(of: target, by: text.caller) }
      return saved
    } catch {
      refused(error, target, text)
      throw error
    }
  }

  private func carryOut(_ text: DraftText, _ target: any DraftTarget, _ saver: Saver) throws(FileTreeError) -> SavedAs {
    if let command = target as? any CommandTarget {
      try command.perform(text, saver, self)
      return .nothing
    }
    guard let target = target as? any TextTarget else { throw .readOnly }
    var applied: Applied?
    do throws(FileTreeError) { return try save(text, target, saver, &applied) } catch {
      // What the request read without a look may be a file that was moved or overwritten. The look of the commit finds
      // that, but reports nothing else.
      guard applied == nil || error.isMoved, request?.stopRelying() ?? false else { throw error }
      return try save(text, target, saver, &applied)
    }
  }

  private func save(
    _ text: DraftText,
    _ target: any TextTarget,
    _ saver: Saver,
    _ applied: inout Applied?
  ) throws(FileTreeError) -> SavedAs {
    func stored() throws(FileTreeError) -> SavedAs? {
      try read { view throws(FileTreeError) in try target.stored(text, view, self) }
    }
    // Without a commit, the request looks itself.
    if let known = try stored(), let stored = request?.stopRelying() ?? false ? try stored() : known {
      try target.noteSaved(Applied(effect: .none, place: stored.place), text, self)
      return stored
    }
    let hasChanged = try saveKeepingTexts(saver, mayWait: target.mayWait) { transaction throws(FileTreeError) in
      // No other program can commit now, so the view of the newest version is the one that the transaction starts from.
      let done = try target.apply(text, to: transaction, try read { view in view }, self)
      applied = done
      return done.effect
    }
    guard let done = applied else { return .nothing }
    try target.noteSaved(done, text, self)
    return SavedAs(place: done.place, hasChanged: hasChanged)
  }

  /// Throws the error that `save` would throw for a text with `isCheck`. Applies the text to the newest version and
  /// rolls back. Does not take the writer lock.
  func check(_ text: DraftText, as target: any TextTarget, for realmFile: Int?) throws(FileTreeError) -> Applied {
    guard let saver else { throw .readOnly }
    return try read { view throws(FileTreeError) in
      // `read` has just looked where the path leads.
      try checkRealm(is: realmFile)
      // A file that the path no longer leads to is never written to.
      if [.gone, .shared].contains(realm.standing.place) {
        throw .refused(.moved, RealmWriter.hasMoved(realm.configuration.path))
      }
      return try saver.rehearse(on: view.snapshot) { transaction throws(FileTreeError) in
        try target.apply(text, to: transaction, view, self)
      }
    }
  }

  /// Throws if the realm is now another file than `file`.
  private func checkRealm(is file: Int?) throws(FileTreeError) {
    if let file, realm.standing.file != file { throw .replaced }
  }

  /// Returns the target of a file at a place; nil for a scratch file.
  func draftTarget(of place: Overlay.Place) throws(FileTreeError) -> (any DraftTarget)? {
    guard saver != nil else { throw .readOnly }
    return try node(place.directory).draftTarget(of: place.name, self)
  }

  /// Drops the caller's refused text for a target. Refused texts of other users remain.
  private func clearRefusal(of target: any DraftTarget, by caller: Caller) {
    if !refusals.mayHaveAny { return }
    guard let place = target.shownPlace(self) else { return }
    refusals.clear(place.path, of: caller.user)
    if let rejected = place.rejected { _ = overlay.unlink(rejected.place(of: caller.user, self)) }
  }

  /// Records a refusal, and keeps the text where only its user can read it.
  func refused(_ error: FileTreeError, _ target: any DraftTarget, _ text: DraftText) {
    guard let place = target.shownPlace(self, known: text.name) else { return }
    let caller = text.caller
    refusals.note(place.path, target.operation, Reason(error, of: caller.user))
    if target is any TextTarget { refusals.protect(place.path, from: caller.user) }
    options.log?("\(place.path): \(error)")
    guard let rejected = place.rejected else { return }
    overlay.keepRefused(text.text, of: place.path, at: rejected.place(of: caller.user, self), .of(caller))
    for gone in overlay.limitRefused(to: options.memoryLimit / 2) {
      let text = "the text was discarded: refused texts may use at most half of the memory of the mount"
      refusals.remark(shownPath(of: gone), "drop", text)
    }
  }

  /// Returns the path of a place as users see it.
  func shownPath(of place: Overlay.Place) -> String {
    let name = String(decoding: place.name, as: UTF8.self)
    // If the directory is gone, only the name is known.
    guard let directory = nodes.node(place.directory), let path = try? directory.shownPath(self) else { return name }
    return path + "/" + name
  }

  /// Changes the schema, and records the reason if that is refused.
  func changeSchema(_ operation: String, _ path: String, _ change: Saver.Change) throws(FileTreeError) {
    guard let saver else { throw .readOnly }
    do throws(FileTreeError) { try saver.save(mayWait: false, change) } catch {
      refusals.note(path, operation, Reason(error, of: nil))
      options.log?("\(path): \(error)")
      throw error
    }
  }
}

extension FileTreeError {
  /// True if the realm is no longer at its path.
  fileprivate var isMoved: Bool { if case .refused(.moved, _) = self { true } else { false } }

  /// Another file has replaced the realm since a handle was opened.
  static let replaced = FileTreeError.refused(
    .moved,
    "the realm was replaced by another file since this one was opened; save again"
  )
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
