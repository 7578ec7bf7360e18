// The targets of drafts. A text has one verb: `apply` changes a transaction to what the text says. A check rolls that
// transaction back and a save commits it, so they cannot disagree.

import RealmPages

/// The part of the realm that a draft changes, or a command.
protocol DraftTarget: Sendable {
  /// The name of the operation in `.realm/errors`.
  var operation: String { get }
  /// The kind of text.
  var form: TextForm { get }
  /// Where users look for what was refused; nil if the target cannot be named.
  func shownPlace(_ tree: TreeContext) -> ShownPlace?
  /// The place of a target that had this name and may be gone.
  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace?
}

/// A part of the realm that a text says.
protocol TextTarget: DraftTarget {
  /// True if no bytes at all are a text, too, so that an emptied file is saved.
  var takesNothing: Bool { get }
  /// True if the commit may be delayed as `-o group_commit` says.
  var mayWait: Bool { get }

  /// The place of the bytes if the realm has this text already: then nothing is to be saved.
  func stored(_ text: DraftText, _ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> SavedAs?
  /// Changes a transaction on the version of `view` to what the text says.
  func apply(
    _ text: DraftText,
    to transaction: borrowing WriteTransaction,
    _ view: VersionView,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Applied
  /// Notes what follows from a commit of the text.
  func noteSaved(_ applied: Applied, _ text: DraftText, _ tree: TreeContext) throws(FileTreeError)
}

/// A file that does something when something is written to it.
protocol CommandTarget: DraftTarget {
  /// True if emptying the file does it, too.
  var obeysTruncation: Bool { get }
  /// Does what the bytes say.
  func perform(_ text: DraftText, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError)
}

extension DraftTarget {
  var operation: String { "save" }
  var form: TextForm { .object }
  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace? { shownPlace(tree) }

  /// True if no bytes at all are a text.
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
  /// Where the bytes are once it is committed.
  let place: SavedAs.Place
  /// True if the text made a new object.
  var isNew = false
  /// The required properties of a new object that the text does not name.
  var defaulted: [ColKey] = []
  /// The number of lines.
  var lineCount = 0
}

/// Where the bytes of a saved draft are, and whether the save changed the realm.
struct SavedAs: Sendable {
  enum Place: Sendable {
    /// They are an object.
    case object(TableOrdinal, ObjKey)
    /// They are a computed file of the tree. This target takes what is written next.
    case computed(any DraftTarget)
    /// Nowhere.
    case nothing
  }

  let place: Place
  var hasChanged = true

  static let nothing = SavedAs(place: .nothing)
}

/// The path that users know a target by, and where its refused text is.
struct ShownPlace {
  let path: String
  /// Nil where there is no text worth keeping.
  let rejected: RejectedText?
}

extension TreeContext {
  /// Saves a text, or does what it says, and returns what it is now. Keeps what is refused where the user finds it.
  ///
  /// `realmFile` is the file that the text is meant for: see `Draft.realmFile`.
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
        // An object that another file lacks is not the reason.
        try checkRealm(is: realmFile)
        throw error
      }
      // Editors put the former text back after a refusal. That text does not replace the refused one.
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
    if let stored = try read({ view throws(FileTreeError) in try target.stored(text, view, self) }) {
      try target.noteSaved(Applied(effect: .none, place: stored.place), text, self)
      return stored
    }
    var applied: Applied?
    let hasChanged = try saveKeepingTexts(saver, mayWait: target.mayWait) { transaction throws(FileTreeError) in
      // The newest version stays as it is as long as no other program can commit.
      let done = try target.apply(text, to: transaction, try read { view in view }, self)
      applied = done
      return done.effect
    }
    guard let applied else { return .nothing }
    try target.noteSaved(applied, text, self)
    return SavedAs(place: applied.place, hasChanged: hasChanged)
  }

  /// Throws what `save` would throw because of a text that `isCheck`: applies it to the newest version and rolls that
  /// back. Takes no turn as writer.
  func check(_ text: DraftText, as target: any TextTarget, for realmFile: Int?) throws(FileTreeError) -> Applied {
    guard let saver else { throw .readOnly }
    try checkRealm(is: realmFile)
    return try read { view throws(FileTreeError) in
      // Nothing is written to a file that the path does not lead to.
      if [.gone, .shared].contains(realm.standing.place) {
        throw .refused(.moved, RealmWriter.hasMoved(realm.configuration.path))
      }
      return try saver.rehearse(on: view.snapshot) { transaction throws(FileTreeError) in
        try target.apply(text, to: transaction, view, self)
      }
    }
  }

  /// Refuses a text that is meant for another file than the one that is the realm now.
  private func checkRealm(is file: Int?) throws(FileTreeError) {
    if let file, realm.standing.file != file { throw .replaced }
  }

  /// The target of a file at a place; nil for a scratch file.
  func draftTarget(of place: Overlay.Place) throws(FileTreeError) -> (any DraftTarget)? {
    guard saver != nil else { throw .readOnly }
    return try node(place.directory).draftTarget(of: place.name, self)
  }

  /// Drops what was refused of the caller's for a target before. What was refused of other users' stays.
  private func clearRefusal(of target: any DraftTarget, by caller: Caller) {
    if !refusals.mayHaveAny { return }
    guard let place = target.shownPlace(self) else { return }
    refusals.clear(place.path, of: caller.user)
    if let rejected = place.rejected { _ = overlay.unlink(rejected.place(of: caller.user, self)) }
  }

  /// Keeps what was refused where its user, and no other one, finds it.
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

  /// The path that users know a place by.
  func shownPath(of place: Overlay.Place) -> String {
    let name = String(decoding: place.name, as: UTF8.self)
    // Without a directory the name is all there is to say.
    guard let directory = nodes.node(place.directory), let path = try? directory.shownPath(self) else { return name }
    return path + "/" + name
  }

  /// Changes the schema, and notes why if that is refused.
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
  /// Another file has taken the realm's place since a handle was opened.
  static let replaced = FileTreeError.refused(
    .moved,
    "the realm was replaced by another file since this one was opened; save again"
  )
}

/// The wish to compact the file.
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
