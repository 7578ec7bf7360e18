// Operations on drafts: open, write, close and sync. Closing or syncing a draft saves it.
//
// Each handle on an object has a separate draft, so two programs that write one object do not mix their texts. Each
// save is a patch; the last one wins property by property. Handles on a file in memory share its bytes.

import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// The drafts of a tree, for one request.
struct Drafts: TreePart {
  /// The state of all drafts of a tree.
  final class State: Sendable {
    /// Nil for a read-only tree.
    let saver: Saver?
    let refusals: RefusalLog
    /// Removed objects and properties that the program may be about to replace.
    let removals = RemovalRecords()
    /// The properties for which it was already reported that new objects get the default value.
    let defaultedProperties = DefaultedProperties()
    /// Removed properties that have their default value because they cannot be null.
    let removedFields = RemovedFields()
    /// Objects whose files were truncated to 0 and closed, and not opened for writing since.
    let emptiedFiles = EmptiedFiles()
    /// Former texts of objects.
    let trash = Trash()

    init(_ saver: Saver?, _ refusals: RefusalLog) { (self.saver, self.refusals) = (saver, refusals) }
  }

  let tree: TreeContext

  private var state: State { tree.parts.drafts }
  var saver: Saver? { state.saver }
  var refusals: RefusalLog { state.refusals }
  var removals: RemovalRecords { state.removals }
  var defaultedProperties: DefaultedProperties { state.defaultedProperties }
  var removedFields: RemovedFields { state.removedFields }
  var emptiedFiles: EmptiedFiles { state.emptiedFiles }
  var trash: Trash { state.trash }

  /// Opens a file for writing. The handle gets a draft that begins as `text` and is saved to `target` at close.
  func openDraft(
    of inode: InodeNumber,
    _ name: [UInt8],
    _ target: any DraftTarget,
    _ access: OpenAccess,
    by caller: Caller,
    _ text: () throws(FileTreeError) -> [UInt8]
  ) throws(FileTreeError) -> OpenFile {
    let memory: MemoryFile?
    // Example: `: >f; echo '{"age": 9}' >>f`. The shell closes the file empty, which changes no object. What is written
    // next must begin a new text instead of being appended to the object's.
    let beginsAnew = emptiedFiles.take(inode) || access.truncates
    if target.form == .lines {
      memory = tree.namespace.overlay.detachedLines(inode, name, spool, .of(caller))
    } else {
      memory = tree.namespace.overlay.detachedFile(
        inode,
        name,
        beginsAnew ? [] : try text(),
        .of(caller),
        form: target.form
      )
    }
    guard let memory else { throw .memoryIsShort }
    if beginsAnew { memory.truncate(to: 0) } else if access.appends { try memory.watchAppending() }
    let draft = Draft(memory, of: target, for: realm.standing.file, reads: access.reads)
    let decision = tree.handles.openFiles.open(inode, draft, for: caller.process)
    let isWatched = target.form != .command
    return OpenFile(inode, draft, access, decision, isWatched: isWatched, opener: caller.process)
  }

  /// Returns the draft of a file that a thread opened with O_TRUNC. The kernel opens the file and then truncates it by
  /// inode number, on the same thread and without the handle.
  func beginning(of inode: InodeNumber, by caller: Caller) throws(FileTreeError) -> Draft? {
    if let draft = tree.handles.openFiles.untouchedDraft(of: inode, by: caller.process) { return draft }
    // A file in memory that became an object has another inode number.
    let shared = try tree.namespace.node(inode).attributes(tree).inode
    return shared == inode ? nil : tree.handles.openFiles.untouchedDraft(of: shared, by: caller.process)
  }

  /// The storage of lines beyond the memory limit of a draft; nil for a realm in memory and in a transaction.
  private var spool: SpoolFile? {
    realm.configuration.inMemoryIdentifier == nil && tree.subtrees.staged == nil
      ? SpoolFile(besideRealm: realm.configuration.path) : nil
  }

  /// Returns the target of a draft: the target of its handle, or the one that its name leads to. Nil for a scratch file
  /// and for a file that is no longer in any directory.
  func target(of draft: Draft) throws(FileTreeError) -> (any DraftTarget)? {
    let memory = draft.memory
    if memory.role == .refusedText || memory.role == .formerText { return nil }
    if let target = draft.target ?? memory.object { return target }
    guard let place = tree.namespace.overlay.place(of: memory.inode) else { return nil }
    return try tree.namespace.draftTarget(of: place)
  }

  // MARK: writing

  /// Writes to a handle. Does not save, but runs a command, and checks a text that is complete: shells and most
  /// programs ignore errors of `close`. If saving the text would be refused, the write fails with that error, the draft
  /// is refused, and its text is kept with the other refused texts.
  func write(_ file: OpenFile, _ bytes: [UInt8], at offset: Int, by caller: Caller?) throws(FileTreeError) {
    guard case .draft(let draft) = file.content, file.access.writes else {
      throw .refused(.forbidden, "not open for writing")
    }
    if let caller { tree.handles.openFiles.noteWriter(caller.process, file) }
    let memory = draft.memory, isKnown = memory.isRefused
    let isComplete: Bool
    do throws(FileTreeError) {
      isComplete = try memory.write(bytes, at: file.access.appends ? nil : offset, isWatched: file.isWatched)
    } catch {
      if !isKnown { noteFailedWrite(file, draft.target, error, by: caller ?? memory.owner) }
      throw error
    }
    if draft.target?.form == .command {
      if memory.isObeyed { memory.noteKept() } else { try save(draft, by: caller) }
    }
    if isComplete { try check(draft, by: caller ?? memory.owner) }
  }

  /// Records why bytes could not be written, such as a lack of memory.
  private func noteFailedWrite(
    _ file: OpenFile,
    _ target: (any DraftTarget)?,
    _ error: FileTreeError,
    by caller: Caller
  ) {
    let path: String?
    if let target {
      path = target.shownPlace(tree)?.path
    } else {
      path = tree.namespace.overlay.place(of: file.inode).map { tree.namespace.shownPath(of: $0) }
    }
    let reason = Reason(error, of: caller.user)
    guard let path, !refusals.isReason(reason, of: path) else { return }
    if file.isWatched { refusals.protect(path, from: caller.user) }
    refusals.record(path, target?.operation ?? "write", reason)
  }

  /// Checks a draft. Refuses it if its text is complete and cannot be saved, or if nothing can be saved until a user
  /// acts.
  private func check(_ draft: Draft, by caller: Caller) throws(FileTreeError) {
    guard let target = try target(of: draft) as? any TextTarget else { return }
    let memory = draft.memory
    var refusal: FileTreeError?
    do throws(FileTreeError) {
      try memory.inTurn { () throws(FileTreeError) in
        let isOne = target.form != .lines
        try memory.withContents(asOne: isOne, isText: target.form.isText) { contents throws(FileTreeError) in
          let text = DraftText(contents, by: caller, name: memory.name, replacing: memory.removal)
          do throws(FileTreeError) {
            let applied = try check(text.asCheck(contents, of: target.form), target, draft.realmFile)
            if let applied { memory.noteChecked(contents, applied.lineCount) }
          } catch {
            refusal = error
            memory.noteRefused(contents, error)
            tree.saves.refused(error, target, text)
          }
        }
      }
    } catch {
      // Without room for a second copy of the text, it is checked at close.
      return
    }
    if let refusal { throw refusal }
  }

  /// Checks a text. Throws the error if it cannot be saved; returns nil if the error may pass.
  private func check(
    _ text: DraftText,
    _ target: any TextTarget,
    _ realmFile: Int?
  ) throws(FileTreeError) -> Applied? {
    try saver?.checkObstacles()
    do throws(FileTreeError) { return try tree.saves.check(text, as: target, for: realmFile) } catch {
      if error.endsWrite { throw error }
      return nil
    }
  }

  /// Allocates `count` bytes from `offset` on. Grows the file to hold them if `growing`, otherwise does nothing.
  func allocate(_ file: OpenFile, offset: Int, count: Int, growing: Bool) throws(FileTreeError) {
    guard case .draft(let draft) = file.content, file.access.writes else {
      throw .refused(.forbidden, "not open for writing")
    }
    let (end, overflow) = offset.addingReportingOverflow(count)
    if overflow { throw .refused(.tooLarge, "a file cannot be that large") }
    if growing { draft.memory.allocate(to: end) }
  }

  /// Sets the size of a file that was opened for that only, and saves the result. A size of 0 changes nothing.
  func resize(_ file: OpenFile, to size: Int, by caller: Caller) throws(FileTreeError) {
    defer { release(file) }
    guard case .draft(let draft) = file.content, let target = draft.target else { return }
    if size == 0, !target.takesEmptyText { return noteEmptied(draft) }
    if draft.memory.size == size { return }
    draft.memory.truncate(to: size)
    try save(draft, by: caller)
  }

  /// Records that a file was emptied and closed: the next program that writes to it begins a new text.
  private func noteEmptied(_ draft: Draft) {
    guard let target = draft.target, !target.takesEmptyText else { return }
    if target.form == .object || target.form == .value { emptiedFiles.note(draft.memory.inode) }
  }

  // MARK: saving

  /// Saves what a handle wrote when the process that opened the file closes it. While that process runs, a close by
  /// another process saves nothing: the commands of a group in a shell write one text. A file that was only emptied is
  /// not saved. A text that is not complete is an error, but the program can still complete it. A refused text is kept
  /// for `caller`, or for the user who opened the file.
  func flush(_ file: OpenFile, by caller: Caller?) throws(FileTreeError) {
    guard case .draft(let draft) = file.content, file.access.writes else { return }
    if let caller, caller.process != file.opener, file.opener != 0, Caller.isRunning(file.opener),
      !Caller.isThread(caller.process, ofProcessOf: file.opener)
    {
      // A command of the group that wrote lines gets their errors at its close.
      if draft.target?.form == .lines, case .dirty = draft.memory.draft, draft.memory.isInOrder {
        try check(draft, by: caller)
      }
      return
    }
    defer { tree.handles.openFiles.settle(file) }
    let memory = draft.memory
    try memory.inTurn { () throws(FileTreeError) in
      if memory.isEmptied { noteEmptied(draft) }
      try saveWritten(draft, by: caller)
    }
  }

  /// Saves a dirty draft, or throws the reason why it cannot be saved.
  private func saveWritten(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
    switch draft.memory.draft {
    case .clean: break
    case .refused(let error):
      tree.removal.takeBack(draft.memory)
      throw error
    case .failed, .dirty:
      try checkIsComplete(draft, by: caller)
      try saveInTurn(draft, by: caller)
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
        do throws(JSONInputError) { _ = try JSONText(bytes) } catch { throw FileTreeError(error) }
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
    do throws(FileTreeError) {
      if draft.target != nil, let object = try tree.namespace.node(file.inode) as? ObjectNode {
        _ = try object.attributes(tree)
      } else {
        try read { _ in }
      }
    } catch {
      // The next program that reads gets the error.
    }
  }

  /// Saves what a handle wrote, and waits until all saves of the mount are on disk.
  func synchronize(_ file: OpenFile, by caller: Caller?) throws(FileTreeError) {
    if case .draft(let draft) = file.content, file.access.writes {
      try draft.memory.inTurn { () throws(FileTreeError) in
        try saveEmptied(draft, by: caller)
        try saveWritten(draft, by: caller)
      }
    }
    try saver?.synchronize()
  }

  /// Releases a handle. Saves what no close has saved; a text that cannot be saved is refused and logged.
  func release(_ file: OpenFile) {
    let isLast = tree.handles.openFiles.beginClose(file)
    if let draft = file.draft, file.access.writes || isLast {
      do throws(FileTreeError) { try saveRest(of: draft, isLast: isLast || draft.target != nil) } catch {
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
      tree.removal.takeBack(draft.memory, at: place)
    }
  }

  /// Saves what no close has saved. An incomplete text of a file in memory is left if another handle may still complete
  /// it.
  private func saveRest(of draft: Draft, isLast: Bool) throws(FileTreeError) {
    let memory = draft.memory
    try memory.release { () throws(FileTreeError) in
      switch memory.draft {
      case .clean:
        try saveEmptied(draft, by: nil)
        // A program removed an object and created its file, but wrote nothing. An object refuses the empty text, and is
        // restored.
        if memory.removal != nil, memory.size == 0, isLast { try saveInTurn(draft, by: nil) }
      case .dirty: if isLast || !memory.isUnfinished { try saveInTurn(draft, by: nil) }
      case .refused, .failed: break
      }
    }
  }

  /// Saves a draft that was only emptied, if an empty text is valid for its target.
  private func saveEmptied(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
    if draft.memory.isEmptied, try target(of: draft)?.takesEmptyText ?? false { try saveInTurn(draft, by: caller) }
  }

  private func save(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
    try draft.memory.inTurn { () throws(FileTreeError) in try saveInTurn(draft, by: caller) }
  }

  private func saveInTurn(_ draft: Draft, by caller: Caller?) throws(FileTreeError) {
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
          // The handle that was closed empty may be a duplicate of this one, as shells make them.
          if draft.target != nil { _ = emptiedFiles.take(memory.inode) }
        } catch {
          isNoted = true
          memory.noteRefused(contents, error)
          throw error
        }
      }
    } catch {
      if !isNoted { refuseWithoutRoom(memory, target, error, text) }
      tree.removal.takeBack(memory)
      throw error
    }
  }

  /// Refuses a draft whose bytes do not fit into memory as one array, and keeps them in chunks.
  private func refuseWithoutRoom(
    _ memory: MemoryFile,
    _ target: any DraftTarget,
    _ error: FileTreeError,
    _ text: (MemoryFile.Contents) -> DraftText
  ) {
    do throws(FileTreeError) {
      try memory.withContents(asOne: false, isText: target.form.isText) { contents throws(FileTreeError) in
        memory.noteRefused(contents, error)
        tree.saves.refused(error, target, text(contents))
      }
    } catch { options.log?("a text could not be kept: \(error)") }
  }

  // MARK: the end of the mount

  /// Saves the drafts of open handles before the tree ends. Logs what cannot be saved.
  func finish() {
    tree.subtrees.transactions.endAll(options.log)
    for draft in tree.handles.openFiles.unsaved {
      do throws(FileTreeError) { try save(draft, by: nil) } catch {
        options.log?("a file that was still being written could not be saved: \(error)")
      }
    }
    tree.removal.takeBackKept()
    tree.handles.changePipes.stop()
    tree.subtrees.snapshots.removeAll()
    do throws(FileTreeError) { try saver?.finish() } catch {
      options.log?("the last saves are not on disk: \(error)")
    }
    for (path, file) in tree.namespace.unsavedEntries() {
      options.log?("\(path): never saved; \(fate(of: file, path))")
    }
  }

  /// Writes an unsaved file to the place that the options name, and returns its fate for the log.
  private func fate(of file: MemoryFile, _ path: String) -> String {
    guard let keep = options.keepUnsaved else { return "discarded" }
    do {
      let bytes = try file.withContents(asOne: false, isText: false) { contents throws(FileTreeError) in
        try contents.bytes
      }
      return "kept as \(try keep(path, bytes))"
    } catch { return "discarded: \(error)" }
  }
}

extension FileTreeError {
  static let memoryIsShort = FileTreeError.refused(
    .noSpace,
    "scratch files, refused texts and files being written have used up the memory that the mount allows them; "
      + ".realm/unsaved lists those that can be removed"
  )

  /// The temporary file of lines, beside the realm, could not be written or read.
  static func spool(_ error: EngineError) -> FileTreeError {
    let isFull = error.code == ENOSPC || error.code == EDQUOT
    return .refused(isFull ? .noSpace : .inputOutput, "lines that are being written: \(error)")
  }
}
