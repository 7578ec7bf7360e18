// Deleting an object, and bringing it back: with a new text under the same name, or as it was where that text is
// refused. See RecentDeletions.

import RealmJSON
import RealmNames
import RealmPages

extension FileTree {
  // MARK: deleting

  /// Deletes the object that has the name `place`.
  func delete(_ ordinal: TableOrdinal, _ key: ObjKey, _ place: Overlay.Place) throws(FileTreeError) {
    guard let saver else { throw .readOnly }
    let path = shownPath(ordinal, key)
    let table = try read { view throws(FileTreeError) in try view.existing(ordinal).table.key }
    var content = RecentDeletions.Content(text: nil, links: nil)
    do throws(FileTreeError) {
      try saver.save { transaction throws(FileTreeError) in
        let text = try self.read { view in self.knownText(of: ObjectReference(table: table, key: key), view) }
        do throws(TransactionError) {
          let origins = try transaction.origins(of: table, key)
          let links = try transaction.incomingLinks(of: table, key, limit: self.deletions.mostLinks)
          content = RecentDeletions.Content(text: text, links: links)
          try transaction.delete(table, key)
          return Effect(touched: origins + [ObjectReference(table: table, key: key)])
        } catch {
          if error.reason == .notFound { throw .notFound }
          throw FileTreeError(error)
        }
      }
    } catch {
      // Another program was faster.
      if case .notFound = error { throw error }
      if let path {
        refusals.note(path, "delete", error.description)
        options.log?("\(path): \(error)")
      }
      throw error
    }
    deletions.note(place, key, content)
  }

  /// The text of an object, from the cache where that has it; nil if it is gone or damaged.
  private func knownText(of object: ObjectReference, _ view: VersionView) -> [UInt8]? {
    guard let directory = view.directory(of: object.table) else { return nil }
    return texts.find(number(directory, object.key), directory.stamp.generation)?.text
      ?? (try? text(of: object.key, directory, view))  // what cannot be read cannot be brought back
  }

  // MARK: bringing back

  /// The object that was deleted a moment ago under a name that is saved now.
  func recentDeletion(_ place: Overlay.Place) -> RecentDeletions.Deletion? {
    deletions.find(place, isInUse: isInUse(place))
  }

  /// Whether a program has a file in memory open at this place.
  private func isInUse(_ place: Overlay.Place) -> Bool {
    overlay.file(at: place).map { openFiles.size(of: $0.inode) != nil } ?? false
  }

  /// Forgets deletions that are too long ago.
  func forgetOldDeletions() { deletions.forgetOld(except: isInUse) }

  /// Sets the links that led to a deleted object, which is back as `object`. Returns all objects that they are in.
  func restoreLinks(
    _ deletion: RecentDeletions.Deletion,
    to object: ObjectReference,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> [ObjectReference] {
    guard let links = deletion.content?.links, !links.isEmpty else { return [] }
    do throws(TransactionError) {
      for link in links { _ = try transaction.restore(link, to: object) }
      return try transaction.origins(of: object.table, object.key)
    } catch {
      throw FileTreeError(error)
    }
  }

  /// Brings back the object that was deleted under a name whose new text is refused, as it was: with its object key, its
  /// embedded objects and the links to it, in one commit. Does nothing where no object was deleted a moment ago, or
  /// another one has the name by now.
  func takeBack(_ place: Overlay.Place) {
    guard let saver, let deletion = recentDeletion(place), case .table(let ordinal) = place.directory.spelledNode else {
      return
    }
    let path = shownPath(place)
    do throws(FileTreeError) {
      guard let text = deletion.content?.text else {
        deletions.forget(place)
        throw .refused(
          .noSpace,
          deletion.content == nil
            ? "it was too large to be remembered, or too much was removed at once" : "it was damaged"
        )
      }
      var made: ObjKey?
      try saver.save { transaction throws(FileTreeError) in
        let (table, existing) = try self.read { view throws(FileTreeError) in
          let directory = try view.existing(ordinal)
          return (directory.table, try self.object(named: place.name, in: directory))
        }
        if existing != nil { return .none }
        let draft = NewObject(
          bytes: text,
          name: place.name,
          table: table,
          formerKey: deletion.key,
          mode: .patch,
          missingLinks: .leaveOut
        )
        let object = ObjectReference(table: table.key, key: try draft.create(in: transaction))
        made = object.key
        return Effect(touched: [object] + (try self.restoreLinks(deletion, to: object, transaction)))
      }
      deletions.forget(place)
      _ = removedText(place).flatMap { overlay.unlink($0) }
      guard let made else { return }
      try nameAlias(place, of: made)
      options.log?(
        "\(path): the new text was refused, so the object that was removed for it is back"
          + (deletion.content?.links == nil ? ", without the links to it, which were too many to be remembered" : "")
      )
    } catch {
      notTakenBack(place, path, deletion, error)
    }
  }

  /// Says that an object is not back, and keeps its text. If that can change, it is tried again.
  private func notTakenBack(
    _ place: Overlay.Place,
    _ path: String,
    _ deletion: RecentDeletions.Deletion,
    _ error: FileTreeError
  ) {
    var reason = "the object that was removed for a refused text is not back: \(error)"
    if let text = deletion.content?.text, let copy = removedText(place) {
      let metadata = MemoryFile.Metadata(permissions: 0o600, owner: 0, group: 0, modified: Clock.time())
      if overlay.makeFile(at: copy, text, metadata, isKnown: false) != nil {
        reason += "; its text is \(String(decoding: copy.name, as: UTF8.self)) in .realm/rejected"
      }
      switch error {
      case .refused(.noSpace, _), .refused(.busy, _), .refused(.inputOutput, _), .busy, .unavailable:
        deletions.keep(place)
        reason += "; the next save tries again"
      default: deletions.forget(place)
      }
    }
    refusals.note(path, "restore", reason)
    options.log?("\(path): \(reason)")
  }

  /// Where the text of an object is that should come back and cannot.
  private func removedText(_ place: Overlay.Place) -> Overlay.Place? {
    guard case .table(let ordinal) = place.directory.spelledNode,
      let rejected = InodeNumber(spelling: .rejectedDirectory(ordinal))
    else { return nil }
    return Overlay.Place(directory: rejected, name: Array((place.name + Array(".removed".utf8)).suffix(255)))
  }

  /// Tries again to bring back what could not be brought back.
  func takeBackKept() {
    for place in deletions.kept { takeBack(place) }
  }
}
