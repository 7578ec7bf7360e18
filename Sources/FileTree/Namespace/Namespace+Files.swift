// Creates, removes and renames files in memory, in any directory that accepts them. Other entries are handled by their
// directory. Programs that save by renaming change the object of that name.

import RealmJSON
import RealmNames
import RealmPages

/// The behaviour of rename if the new name exists.
public enum RenameRule: Sendable {
  /// Replaces the file.
  case replace
  /// Fails.
  case keep
  /// Exchanges the names of the two files.
  case exchange
}

/// A file that was created and opened.
public struct CreatedFile: Sendable {
  /// The attributes of the file.
  public let attributes: FileAttributes
  /// The handle.
  public let file: OpenFile
}

extension Namespace {
  func create(
    _ place: Overlay.Place,
    permissions: UInt32,
    _ access: OpenAccess,
    isExclusive: Bool,
    by caller: Caller
  ) throws(FileTreeError) -> CreatedFile {
    do throws(FileTreeError) {
      let attributes = try lookUp(place.name, in: try node(place.directory))
      if isExclusive {
        forget(attributes.inode, lookups: 1)
        throw .refused(.exists, "already exists")
      }
      let file = try node(attributes.inode).open(access, by: caller, tree)
      return CreatedFile(attributes: tree.handles.withOpenSizes(attributes), file: file)
    } catch {
      guard case .notFound = error else { throw error }
    }
    let target: (any DraftTarget)?
    do { target = try draftTarget(of: place) } catch {
      // A file as created by mkstemp(3), for a program that saves by renaming. Accept any name.
      guard case .refused(.invalid, _) = error, isExclusive, permissions & 0o777 == 0o600 else { throw error }
      target = nil
    }
    let metadata = MemoryFile.Metadata.of(caller, permissions: permissions & 0o7777)
    guard let file = overlay.makeFile(at: place, [], metadata, form: target?.form ?? .object, isKnown: true) else {
      throw .memoryIsShort
    }
    if target != nil { file.removal = takeRemoval(place, by: caller) }
    let decision = tree.handles.openFiles.open(file.inode, Draft(file), for: caller.process)
    return CreatedFile(
      attributes: try read { view in view.rules.file(file) },
      file: OpenFile(file.inode, Draft(file), access, decision, isWatched: target != nil, opener: caller.process)
    )
  }

  func unlink(_ place: Overlay.Place, by caller: Caller) throws(FileTreeError) {
    guard tree.drafts.saver != nil else { throw .readOnly }
    try checkOwner(of: place, caller)
    if let file = overlay.unlink(place) {
      // A user who removes a refused text has seen it, so the object no longer needs protection.
      if let path = file.refusedPath { _ = tree.drafts.refusals.takeProtection(path, from: file.metadata.owner) }
      guard let removal = file.takeRemoval() else { return }
      // A program that cleans up after a refusal does not intend to remove the previous object.
      if file.hasFailed {
        tree.removal.restoreRemoved(removal, at: place)
      } else {
        tree.drafts.removals.note(place, removal, by: caller)
      }
      return
    }
    try refuseFirstUnlink(place, by: caller)
    try tree.drafts.refusals.noting("delete", shownPath(of: place)) { () throws(FileTreeError) in
      try node(place.directory).unlink(place.name, by: caller, tree)
    }
  }

  /// Throws if a caller renames, replaces or removes a file in memory of another user, unless its mode lets the caller
  /// write to it. Otherwise a user could publish a private file of another user by renaming it onto an object.
  private func checkOwner(of place: Overlay.Place, _ caller: Caller) throws(FileTreeError) {
    guard let file = overlay.file(at: place), file.role != .formerText else { return }
    let metadata = file.metadata
    if caller.user == 0 || caller.user == metadata.owner { return }
    let bit: UInt32 = caller.group == metadata.group ? 0o020 : 0o002
    if metadata.permissions & bit != 0 { return }
    throw .refused(.noAccess, "the file belongs to user \(metadata.owner); only that user can rename or remove it")
  }

  /// Refuses the first `unlink` after a refusal by the user whose text was refused. Many programs remove a file that
  /// they could not write completely (rclone, file managers, `cmd >f || rm f`). Here the file is the unchanged object,
  /// so removing it would lose data that the program never wrote.
  private func refuseFirstUnlink(_ place: Overlay.Place, by caller: Caller) throws(FileTreeError) {
    if !tree.drafts.refusals.protects { return }
    // The path of an object differs from this one if it was created under another name.
    let path = shownPath(of: place), own: String?
    do {
      let attributes = try lookUp(place.name, in: node(place.directory))
      defer { forget(attributes.inode, lookups: 1) }
      own = try node(attributes.inode).shownPath(tree)
    } catch {
      guard case .notFound = error else { throw error }
      return
    }
    guard [path, own ?? path].contains(where: { tree.drafts.refusals.takeProtection($0, from: caller.user) }) else {
      return
    }
    let reason =
      "its new text was refused, so the object is unchanged; remove it again to delete it"
    tree.drafts.refusals.remark(path, "delete", reason)
    options.log?("\(path): \(reason)")
    throw .refused(.forbidden, reason)
  }

  // MARK: renaming

  func rename(
    _ source: Overlay.Place,
    to goal: Overlay.Place,
    _ rule: RenameRule,
    by caller: Caller
  ) throws(FileTreeError) {
    if try node(source.directory).renameDirectory(source.name, to: goal, rule, tree) { return }
    try checkOwner(of: source, caller)
    try checkOwner(of: goal, caller)
    _ = try draftTarget(of: source)
    let target = try draftTarget(of: goal)
    try Self.checkLength(goal.name)
    if source == goal { return }
    let goalDirectory = try node(goal.directory)
    let goalAttributes = try found(goal, in: goalDirectory)
    if rule == .keep && goalAttributes != nil { throw .refused(.exists, "already exists") }
    if rule == .exchange && goalAttributes == nil { throw .notFound }
    if goalAttributes?.kind == .directory { throw .isADirectory }
    if rule == .exchange { return try exchange(source, goal, by: caller) }
    guard let file = overlay.file(at: source) else {
      if let target, try renameAlias(source, to: goal, as: target, rule, by: caller) { return }
      return try node(source.directory).move(source.name, to: goal, tree)
    }
    // The removal belongs to the old place of the file, not to the new one.
    if let own = file.takeRemoval() { tree.drafts.removals.note(source, own, by: caller) }
    guard let target else {
      overlay.move(file.inode, to: goal)
      return file.noteKept()
    }
    // An empty file stays in memory under its new name, but does not replace an object that the program removed for it:
    // an object refuses the empty text.
    if file.size == 0 && goalAttributes == nil {
      let removal = takeRemoval(goal, by: caller)
      if let removal, !target.takesEmptyText, !tree.handles.openFiles.isOpen(file.inode) {
        tree.removal.restoreRemoved(removal, at: goal)
        throw .refused(.invalid, "the file is empty, so the object whose name it was to take is restored")
      }
      file.removal = removal
      return overlay.move(file.inode, to: goal)
    }
    try replacing(goal, by: caller) { removal throws(FileTreeError) in
      try file.exclusively { () throws(FileTreeError) in
        try file.withContents(isText: target.form.isText) { contents throws(FileTreeError) in
          let text = DraftText(contents, by: caller, mustBeNew: rule == .keep, replacing: removal)
          let saved = try tree.saves.save(text, as: target)
          if let inode = goalAttributes?.inode { tree.drafts.emptiedFiles.take(inode) }
          _ = overlay.unlink(goal)
          tree.saves.became(saved, file)
          file.noteSaved(contents)
        }
      }
    }
  }

  /// Runs `body`, which saves a text in place of the object or property that the caller's process removed there. If
  /// `body` fails, restores the removed one.
  func replacing(
    _ place: Overlay.Place,
    by caller: Caller,
    _ body: (Removal?) throws(FileTreeError) -> Void
  ) throws(FileTreeError) {
    let removal = takeRemoval(place, by: caller)
    do { try body(removal) } catch {
      if let removal { tree.removal.restoreRemoved(removal, at: place) }
      throw error
    }
  }

  /// Returns the removal that the caller's process made at `place`, and forgets it.
  private func takeRemoval(_ place: Overlay.Place, by caller: Caller) -> Removal? {
    overlay.file(at: place)?.takeRemoval() ?? tree.drafts.removals.take(place, by: caller)
  }

  /// Renames a file whose name is not that of its object: to another such name, or onto the file of an object, which is
  /// given its text. Returns false if the file at `source` has no such name, or if no object can be named `goal`.
  func renameAlias(
    _ source: Overlay.Place,
    to goal: Overlay.Place,
    as target: any DraftTarget,
    _ rule: RenameRule,
    by caller: Caller
  ) throws(FileTreeError) -> Bool {
    guard let home = try node(source.directory) as? ClassNode, let target = target as? NamedObjectTarget,
      let key = overlay.alias(source.name, in: home.inode), !overlay.isAside(key, in: home.inode)
    else { return false }
    let (shown, isFree) = try read { view throws(FileTreeError) in
      let directory = try view.existing(home.ordinal)
      try directory.checkIsWritable()
      let isOtherName =
        goal.directory == source.directory && NameEscaping.parse(file: goal.name, primaryKey: nil) == nil
      return (
        try view.text(of: key, directory),
        isOtherName ? try object(named: goal.name, in: directory) == nil : false
      )
    }
    if isFree {
      overlay.addAlias(goal.name, of: key, in: home.inode)
    } else {
      let written = aliasTexts.written(home.ordinal, key, ifShowing: shown) ?? shown
      guard let text = ChunkedBytes(written, tree.parts.memory) else { throw .memoryIsShort }
      let move = ObjectMove(home: home, key: key)
      try replacing(goal, by: caller) { removal throws(FileTreeError) in
        let text = DraftText(text, of: move, by: caller, mustBeNew: rule == .keep, replacing: removal)
        _ = try tree.saves.save(text, as: target)
      }
      _ = overlay.unlink(goal)
      aliasTexts.forget(home.ordinal, key)
    }
    overlay.removeAlias(source.name, in: home.inode)
    dentryInvalidations.add(source)
    dentryInvalidations.add(goal)
    return true
  }

  private func found(_ place: Overlay.Place, in directory: any Node) throws(FileTreeError) -> FileAttributes? {
    do {
      let attributes = try lookUp(place.name, in: directory)
      forget(attributes.inode, lookups: 1)
      return attributes
    } catch {
      guard case .notFound = error else { throw error }
      return nil
    }
  }

  /// Exchanges the names of two files in memory, or saves a file in memory to an entry and stores the previous text of
  /// the entry in the file.
  private func exchange(_ first: Overlay.Place, _ second: Overlay.Place, by caller: Caller) throws(FileTreeError) {
    switch (overlay.file(at: first), overlay.file(at: second)) {
    case (let a?, let b?):
      guard try draftTarget(of: first) == nil, try draftTarget(of: second) == nil else {
        throw .refused(.forbidden, "a file that is not saved yet cannot exchange its name")
      }
      overlay.exchange(a.inode, b.inode)
    case (let file?, nil): try node(second.directory).exchange(second.name, with: file, by: caller, tree)
    case (nil, let file?): try node(first.directory).exchange(first.name, with: file, by: caller, tree)
    case (nil, nil): throw .refused(.forbidden, "an object is named by its key, which cannot change")
    }
    dentryInvalidations.add(first)
    dentryInvalidations.add(second)
  }
}
