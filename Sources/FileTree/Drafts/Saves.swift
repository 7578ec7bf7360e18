// Saves and checks of texts. A text is applied to a transaction, which a save commits and a check rolls back. A refused
// text is kept in `.realm/rejected`.

import RealmJSON
import RealmPages

/// The saves of a tree, for one request.
struct Saves: TreePart {
  let tree: TreeContext

  /// The handling of links to missing objects. In a transaction, files may arrive in any order.
  var missingLinks: MissingLinks { tree.subtrees.staged == nil ? .refuse : .expect }

  /// Saves a text, or runs the command in it, and returns its new place. Keeps a refused text in `.realm/rejected`.
  ///
  /// `realmFile` is the file that the text may be saved to; see `Draft.realmFile`.
  func save(
    _ text: DraftText,
    as target: any DraftTarget,
    for realmFile: Int? = nil
  ) throws(FileTreeError) -> SavedAs {
    guard let saver = tree.drafts.saver else { throw .readOnly }
    if let staged = tree.subtrees.staged, staged.hasEnded { throw .stale }
    do throws(FileTreeError) {
      try checkRealm(is: realmFile)
      tree.removal.retryRestores()
      let saved: SavedAs
      do {
        saved = try perform(text, target, realmFile.map(saver.saving(to:)) ?? saver)
      } catch {
        // If the realm was replaced by another file, report this instead of, for example, an object that is missing in
        // the new file.
        try checkRealm(is: realmFile)
        throw error
      }
      // Editors write the previous text back after a refusal. Saving it must not drop the refused text.
      if saved.hasChanged { clearRefusal(of: target, by: text.caller) }
      return saved
    } catch {
      refused(error, target, text)
      throw error
    }
  }

  private func perform(_ text: DraftText, _ target: any DraftTarget, _ saver: Saver) throws(FileTreeError) -> SavedAs {
    if let command = target as? any CommandTarget {
      try command.perform(text, saver, tree)
      return .nothing
    }
    guard let target = target as? any TextTarget else { throw .readOnly }
    return try save(text, target, saver)
  }

  private func save(
    _ text: DraftText,
    _ target: any TextTarget,
    _ saver: Saver
  ) throws(FileTreeError) -> SavedAs {
    if let stored = try read({ view throws(FileTreeError) in try target.stored(text, view, tree) }) {
      try target.noteSaved(Applied(effect: .none, place: stored.place), text, tree)
      return stored
    }
    var applied: Applied?
    let hasChanged = try saveKeepingTexts(saver, mayWait: target.mayWait) { transaction throws(FileTreeError) in
      // No other program can commit now, so the newest version is the one on which the transaction is based.
      let done = try target.apply(TextApplication(text: text, view: read { view in view }, tree: tree), to: transaction)
      applied = done
      return done.effect
    }
    guard let done = applied else { return .nothing }
    try target.noteSaved(done, text, tree)
    return SavedAs(place: done.place, hasChanged: hasChanged)
  }

  /// Throws the error that `save` would throw for a text with `isCheck`. Applies the text to the newest version and
  /// rolls back. Does not take the writer lock.
  func check(_ text: DraftText, as target: any TextTarget, for realmFile: Int?) throws(FileTreeError) -> Applied {
    guard let saver = tree.drafts.saver else { throw .readOnly }
    return try read { view throws(FileTreeError) in
      // The request has already checked which file the path refers to.
      try checkRealm(is: realmFile)
      // A file that the path no longer refers to is never written.
      if [.gone, .shared].contains(realm.location.place) {
        throw .refused(.moved, RealmWriter.hasMoved(realm.configuration.path))
      }
      return try saver.rehearse(on: view.snapshot) { transaction throws(FileTreeError) in
        try target.apply(TextApplication(text: text, view: view, tree: tree), to: transaction)
      }
    }
  }

  /// Throws if the realm is now a file other than `file`.
  private func checkRealm(is file: Int?) throws(FileTreeError) {
    if let file, realm.location.generation != file { throw .replaced }
  }

  /// Drops the caller's refused text for a target. Refused texts of other users remain.
  private func clearRefusal(of target: any DraftTarget, by caller: Caller) {
    if !tree.drafts.refusals.mayHaveAny { return }
    guard let place = target.shownPlace(tree) else { return }
    tree.drafts.refusals.clear(place.path, of: caller.user)
    if let rejected = place.rejected { _ = tree.namespace.overlay.unlink(rejected.place(of: caller.user, tree)) }
  }

  /// Records a refusal, and keeps the text in a file that only its user can read.
  func refused(_ error: FileTreeError, _ target: any DraftTarget, _ text: DraftText) {
    guard let place = target.shownPlace(tree, known: text.name) else { return }
    let caller = text.caller
    tree.drafts.refusals.note(place.path, target.operation, Reason(error, of: caller.user))
    if target is any TextTarget { tree.drafts.refusals.protect(place.path, from: caller.user) }
    options.log?("cannot \(target.operation) \(place.path): \(error)")
    guard let rejected = place.rejected else { return }
    tree.namespace.overlay.keepRefused(
      text.text,
      of: place.path,
      at: rejected.place(of: caller.user, tree),
      .of(caller)
    )
    for gone in tree.namespace.overlay.limitRefused(to: options.memoryLimit / 2) {
      let text = "the text was discarded: refused texts may use at most half of the memory of the mount"
      tree.drafts.refusals.remark(tree.namespace.shownPath(of: gone), "drop", text)
    }
  }

  /// Changes the schema, and records the reason if the change is refused.
  func changeSchema(_ operation: String, _ path: String, _ change: Saver.Change) throws(FileTreeError) {
    guard let saver = tree.drafts.saver else { throw .readOnly }
    do { try saver.save(mayWait: false, change) } catch {
      tree.drafts.refusals.note(path, operation, Reason(error, of: nil))
      options.log?("cannot \(operation) \(path): \(error)")
      throw error
    }
  }

  // MARK: files that become objects

  /// Replaces a saved file in memory with the file of the realm that now contains its text.
  func became(_ saved: SavedAs, _ memory: MemoryFile) {
    if case .object(let ordinal, let key) = saved.place { keepSettings(of: memory, for: key, in: ordinal) }
    if memory.role == .edit { return }
    switch saved.place {
    case .object(let ordinal, let key):
      memory.became(ObjectTarget(ordinal, key))
      tree.namespace.overlay.becomeObject(memory.inode, ordinal, key)
    case .computed(let target):
      memory.became(target)
      if let place = tree.namespace.overlay.place(of: memory.inode) { _ = tree.namespace.overlay.unlink(place) }
    case .nothing: break
    }
  }

  /// Applies the time, mode and group that a program set for a file to the object that the file became.
  private func keepSettings(of memory: MemoryFile, for key: ObjKey, in ordinal: TableOrdinal) {
    guard let settings = memory.takeSettings() else { return }
    let object = ObjectNode(views.number(ordinal, key), ordinal, key)
    do {
      if let time = settings.time { try object.setTime(time, tree) }
      if settings.change.permissions != nil || settings.change.group != nil {
        try object.change(settings.change, tree)
      }
    } catch {
      // The object was saved, but another program has removed it since, so it has no time or mode.
    }
  }
}

extension FileTreeError {
  /// Another file has replaced the realm since a handle was opened.
  static let replaced = FileTreeError.refused(
    .moved,
    "the realm was replaced by another file since this one was opened; save again"
  )
}
