// Deletes objects and restores them: with a new text under the same name, or unchanged if that text is refused. See
// RemovalRecords.

import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// The removals of a tree, for one request.
struct ObjectRemoval: TreePart {
  let tree: TreeContext

  // MARK: deleting

  /// Deletes the object named `name` in a class.
  func delete(_ key: ObjKey, _ name: [UInt8], _ home: ClassNode, by caller: Caller) throws(FileTreeError) {
    guard let saver = tree.drafts.saver else { throw .readOnly }
    let place = Overlay.Place(directory: home.inode, name: name)
    let path = ObjectTarget(home.ordinal, key).shownPlace(tree)?.path
    let table = try read { view throws(FileTreeError) in try view.existing(home.ordinal).table.key }
    var content = Removal.Content(text: nil, links: nil)
    do throws(FileTreeError) {
      try tree.saves.saveKeepingTexts(saver) { transaction throws(FileTreeError) in
        let text = try read { view in tree.saves.knownText(of: ObjectReference(table: table, key: key), view) }
        do throws(EngineError) {
          let origins = try transaction.origins(of: table, key)
          let links = try transaction.incomingLinks(of: table, key, limit: tree.drafts.removals.maxLinks)
          content = Removal.Content(text: text, links: links)
          try transaction.delete(table, key)
          let object = ObjectReference(table: table, key: key)
          return Effect(touched: origins + [object], replaced: [object])
        } catch {
          if error.reason == .notFound { throw .notFound }
          throw FileTreeError(error)
        }
      }
    } catch {
      // Another program deleted the object first.
      if case .notFound = error { throw error }
      if let path {
        tree.drafts.refusals.note(path, "delete", Reason(error, of: nil))
        options.log?("cannot delete \(path): \(error)")
      }
      throw error
    }
    tree.drafts.removals.note(place, Removal(key, content), by: caller)
    views.keptModes.forget(views.number(home.ordinal, key))
    tree.drafts.emptiedFiles.take(views.number(home.ordinal, key))
  }

  // MARK: bringing back

  /// Restores the object or property that was removed to make room for a draft, which is refused.
  func restoreRemoved(_ memory: MemoryFile) {
    if let place = tree.namespace.overlay.place(of: memory.inode) { restoreRemoved(memory, at: place) }
  }

  /// Restores the object or property that was removed to make room for a draft at `place`.
  func restoreRemoved(_ memory: MemoryFile, at place: Overlay.Place) {
    if let removal = memory.takeRemoval() { restoreRemoved(removal, at: place) }
  }

  /// Restores the object or property that was removed at `place`.
  func restoreRemoved(_ removal: Removal, at place: Overlay.Place) {
    // Nothing can be restored in a directory that no longer exists.
    if let directory = tree.namespace.nodes.node(place.directory) {
      directory.restoreRemoved(removal, place.name, tree)
    }
  }

  /// Retries the restores that failed.
  func retryRestores() {
    for (place, removal) in tree.drafts.removals.takeKept() { restoreRemoved(removal, at: place) }
  }

  /// Restores the object that was removed under a name whose new text is refused: with its object key, its embedded
  /// objects and the links to it, in one commit. Does nothing if another object now has the name.
  func restoreRemoved(_ removal: Removal, _ name: [UInt8], _ home: ClassNode) {
    let place = Overlay.Place(directory: home.inode, name: name)
    restoreRemoved(removal, at: place, .object, NamedObjectTarget(home, name).shownPlace(tree)) {
      (saver, text) throws(FileTreeError) in
      var made: ObjKey?
      try saver.save { transaction throws(FileTreeError) in
        let (table, existing) = try read { view throws(FileTreeError) in
          let directory = try view.existing(home.ordinal)
          return (directory.table, try tree.namespace.object(named: name, in: directory))
        }
        if existing != nil { return .none }
        let json: JSONText
        do throws(InputError) { json = try JSONText(text) } catch { throw FileTreeError(error) }
        let outcome = try tree.saves.create(
          json,
          name,
          in: table,
          formerKey: removal.key,
          mode: .patch,
          missingLinks: tree.subtrees.staged == nil ? .leaveOut : .expect,
          transaction
        )
        let object = ObjectReference(table: table.key, key: outcome.object)
        made = object.key
        return Effect(touched: [object] + (try tree.saves.restoreLinks(removal, to: object, transaction)))
      }
      guard let made else { return false }
      try tree.namespace.nameAlias(name, of: made, in: home)
      // Later writes to the file change the object.
      if let file = tree.namespace.overlay.file(at: place) {
        tree.saves.became(SavedAs(place: .object(home.ordinal, made)), file)
      }
      return true
    }
  }

  /// The kinds of content that can be restored.
  enum Removed: String {
    case object
    case property
  }

  /// Restores the content removed at `place` by calling `restore`, which returns true if it had to restore it.
  func restoreRemoved(
    _ removal: Removal,
    at place: Overlay.Place,
    _ what: Removed,
    _ shown: @autoclosure () -> ShownPlace?,
    _ restore: (Saver, _ text: [UInt8]) throws(FileTreeError) -> Bool
  ) {
    guard let saver = tree.drafts.saver else { return }
    let shown = shown(), path = shown?.path ?? String(decoding: place.name, as: UTF8.self)
    do throws(FileTreeError) {
      guard let text = removal.content?.text else {
        throw .refused(
          .noSpace,
          removal.content == nil
            ? "it was too large to keep in memory, or too much was removed at once" : "it was damaged"
        )
      }
      let isBack = try restore(saver, text)
      _ = removedText(shown).flatMap { tree.namespace.overlay.unlink($0) }
      guard isBack else { return }
      options.log?(
        "\(path): the new text was refused, so the \(what) that was removed for it was restored"
          + (removal.content?.links == nil ? ", without the links to it, which were too many to keep in memory" : "")
      )
    } catch {
      reportFailedRestore(removal, place, what, path, removedText(shown), error)
    }
  }

  /// Reports a failed restore, and keeps the text. Schedules a retry if the reason may be temporary.
  private func reportFailedRestore(
    _ removal: Removal,
    _ place: Overlay.Place,
    _ what: Removed,
    _ path: String,
    _ copy: Overlay.Place?,
    _ error: FileTreeError
  ) {
    var reason = "the \(what) that was removed for a refused text was not restored: \(error)"
    if let text = removal.content?.text, let copy {
      let owner = MemoryFile.Metadata.of(Caller(user: tree.views.owner, group: views.lastRules?.group ?? getegid()))
      if tree.namespace.overlay.makeFile(at: copy, text, owner, role: .refusedText, isKnown: false) != nil {
        reason += "; its text is \(String(decoding: copy.name, as: UTF8.self)) in .realm/rejected"
      }
      switch error {
      case .refused(.noSpace, _), .refused(.busy, _), .refused(.inputOutput, _), .refused(.offline, _), .busy,
        .unavailable:
        tree.drafts.removals.keep(place, removal)
        reason += "; the next save tries again"
      default: break
      }
    }
    tree.drafts.refusals.note(
      path,
      "restore",
      Reason(reason, others: "the \(what) that was removed for a refused text was not restored", of: tree.views.owner)
    )
    options.log?("\(path): \(reason)")
  }

  /// Returns the place where the text of a failed restore is kept.
  private func removedText(_ shown: ShownPlace?) -> Overlay.Place? {
    guard let rejected = shown?.rejected else { return nil }
    let name = Array((rejected.name + Array(".removed".utf8)).suffix(255))
    return RejectedText(ordinal: rejected.ordinal, name: name).place(of: tree.views.owner, tree)
  }
}
