// Closes, syncs and releases drafts, which saves them; and the end of the mount, which saves the rest.

import RealmJSON
import RealmPages

extension Drafts {
  /// Saves the bytes written to a handle when the process that opened the file closes it. While that process runs, a
  /// close by another process saves nothing: the commands of a shell group write one text. A file that was only emptied
  /// is not saved. A text that is not complete is an error, but the program can still complete it. A refused text is
  /// kept for `caller`, or for the user who opened the file.
  func flush(_ file: OpenFile, by caller: Caller?) throws(FileTreeError) {
    guard case .draft(let draft) = file.content, file.access.writes else { return }
    if let caller, caller.process != file.opener, file.opener != 0, Caller.isRunning(file.opener),
      !Caller.isThread(caller.process, ofProcessOf: file.opener)
    {
      // A command of the group that wrote lines receives the errors in them when it closes the file.
      if draft.target?.form == .lines, case .dirty = draft.memory.draft, draft.memory.isInOrder {
        try check(draft, by: caller)
      }
      return
    }
    defer { tree.handles.openFiles.settle(file) }
    let memory = draft.memory
    try memory.exclusively { () throws(FileTreeError) in
      if memory.isEmptied { noteEmptied(draft) }
      try saveWritten(draft, by: caller)
    }
  }

  /// Saves a dirty draft, or throws the reason why it cannot be saved.
  private func saveWritten(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
    switch draft.memory.draft {
    case .clean: break
    case .refused(let error):
      tree.removal.restoreRemoved(draft.memory)
      throw error
    case .failed, .dirty:
      try checkIsComplete(draft, by: caller)
      try saveExclusively(draft, by: caller)
    }
  }

  /// Throws the syntax error of an incomplete JSON text. The draft is not refused, because the program may write the
  /// rest.
  private func checkIsComplete(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
    let memory = draft.memory
    guard memory.isUnfinished, let target = try target(of: draft) else { return }
    do throws(FileTreeError) {
      try memory.withContents { contents throws(FileTreeError) in
        let bytes = try contents.bytes
        do throws(InputError) { _ = try JSONText(bytes) } catch { throw FileTreeError(error) }
      }
    } catch {
      memory.noteFailure()
      if let path = target.shownPlace(tree, known: memory.name)?.path {
        refusals.protect(path, from: (caller ?? memory.owner).user)
      }
      throw error
    }
  }

  /// Prepares the view of the newest version, and the text of an object that was saved, for the next reader.
  func prepareNext(after file: OpenFile) {
    guard case .draft(let draft) = file.content, draft.memory.isWrittenTo else { return }
    // No answer depends on this read; the next request looks.
    request?.skipPathCheck()
    do {
      if draft.target != nil, let object = try tree.namespace.node(file.inode) as? ObjectNode {
        _ = try object.attributes(tree)
      } else {
        try read { _ in }
      }
    } catch {
      // The next program that reads the object receives the error.
    }
  }

  /// Saves the bytes written to a handle, and waits until all saves of the mount are on disk.
  func synchronize(_ file: OpenFile, by caller: Caller?) throws(FileTreeError) {
    if case .draft(let draft) = file.content, file.access.writes {
      try draft.memory.exclusively { () throws(FileTreeError) in
        try saveEmptied(draft, by: caller)
        try saveWritten(draft, by: caller)
      }
    }
    try saver?.synchronize()
  }

  /// Releases a handle. Saves bytes that no close has saved; a text that cannot be saved is refused and logged.
  func release(_ file: OpenFile) {
    let isLast = tree.handles.openFiles.beginClose(file)
    if let draft = file.draft, file.access.writes || isLast {
      do { try saveRest(of: draft, isLast: isLast || draft.target != nil) } catch {
        options.log?("a file could not be saved when it was closed: \(error)")
      }
    }
    tree.handles.openFiles.close(file)
    // The text of a new file that was refused is in `.realm/rejected`; the name becomes free.
    if let draft = file.draft, draft.target == nil, draft.memory.hasFailed,
      !tree.handles.openFiles.isOpen(draft.memory.inode),
      let place = tree.namespace.overlay.place(of: draft.memory.inode)
    {
      _ = tree.namespace.overlay.unlink(place)
      tree.removal.restoreRemoved(draft.memory, at: place)
    }
  }

  /// Saves bytes that no close has saved. An incomplete text of a file in memory is kept if another handle may still
  /// complete it.
  private func saveRest(of draft: Draft, isLast: Bool) throws(FileTreeError) {
    let memory = draft.memory
    try memory.release { () throws(FileTreeError) in
      switch memory.draft {
      case .clean:
        try saveEmptied(draft, by: nil)
        // A program removed an object and created its file, but wrote nothing. The empty text is invalid, so the object
        // is restored.
        if memory.removal != nil, memory.size == 0, isLast { try saveExclusively(draft, by: nil) }
      case .dirty: if isLast || !memory.isUnfinished { try saveExclusively(draft, by: nil) }
      case .refused, .failed: break
      }
    }
  }

  /// Saves a draft that was only emptied, if an empty text is valid for its target.
  private func saveEmptied(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
    if draft.memory.isEmptied, try target(of: draft)?.takesEmptyText ?? false { try saveExclusively(draft, by: caller) }
  }

  func save(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
    try draft.memory.exclusively { () throws(FileTreeError) in try saveExclusively(draft, by: caller) }
  }

  private func saveExclusively(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
    let memory = draft.memory
    guard let target = try target(of: draft) else { return memory.noteKept() }
    func text(_ contents: MemoryFile.Contents) -> DraftText {
      DraftText(contents, by: caller ?? memory.owner, name: memory.name, replacing: memory.removal)
    }
    var isNoted = false
    do throws(FileTreeError) {
      try memory.withContents(asOne: target.form != .lines, isText: target.form.isText) {
        (contents) throws(FileTreeError) -> Void in
        do throws(FileTreeError) {
          tree.saves.became(try tree.saves.save(text(contents), as: target, for: draft.realmFile), memory)
          memory.noteSaved(contents)
          // The handle that was closed empty may be a duplicate of this one: shells create such duplicates.
          if draft.target != nil { emptiedFiles.take(memory.inode) }
        } catch {
          isNoted = true
          memory.noteRefused(contents, error)
          throw error
        }
      }
    } catch {
      if !isNoted { refuseWithoutRoom(memory, target, error, text) }
      tree.removal.restoreRemoved(memory)
      throw error
    }
  }

  /// Refuses a draft whose bytes do not fit into memory as one array, and keeps its bytes in chunks.
  private func refuseWithoutRoom(
    _ memory: MemoryFile,
    _ target: any DraftTarget,
    _ error: FileTreeError,
    _ text: (MemoryFile.Contents) -> DraftText
  ) {
    do {
      try memory.withContents(asOne: false, isText: target.form.isText) { contents throws(FileTreeError) in
        memory.noteRefused(contents, error)
        tree.saves.refused(error, target, text(contents))
      }
    } catch { options.log?("a text could not be kept: \(error)") }
  }

  // MARK: the end of the mount

  /// Saves the drafts of open handles before the tree ends. Logs those that cannot be saved.
  func finish() {
    tree.subtrees.transactions.endAll(options.log)
    for draft in tree.handles.openFiles.unsaved {
      do { try save(draft, by: nil) } catch {
        options.log?("a file that was still being written could not be saved: \(error)")
      }
    }
    tree.removal.retryRestores()
    tree.handles.changePipes.stop()
    tree.subtrees.snapshots.removeAll()
    do { try saver?.finish() } catch {
      options.log?("the last saves are not on disk: \(error)")
    }
    for (path, file) in tree.namespace.unsavedEntries() {
      options.log?("\(path): never saved; \(storeUnsaved(file, path))")
    }
  }

  /// Writes an unsaved file to the location given by the options, and returns the outcome for the log.
  private func storeUnsaved(_ file: MemoryFile, _ path: String) -> String {
    guard let keep = options.keepUnsaved else { return "discarded" }
    do {
      let bytes = try file.withContents(asOne: false, isText: false) { contents throws(FileTreeError) in
        try contents.bytes
      }
      return "kept as \(try keep(path, bytes))"
    } catch { return "discarded: \(error)" }
  }
}
