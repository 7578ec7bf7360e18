// Drafts from open to write: a handle gets one, and complete texts are checked. `Drafts+Saving.swift` saves them.
//
// Each handle on an object has a separate draft, so the texts of two programs that write one object are not mixed. Each
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
    /// Objects whose files were truncated to 0 and closed, and have not been opened for writing since.
    let emptiedFiles = EmptiedFiles()
    /// Previous texts of objects.
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

  /// Opens a file for writing. The handle has a draft that starts with `text` and is saved to `target` at close.
  func openDraft(
    of inode: InodeNumber,
    _ name: [UInt8],
    _ target: any DraftTarget,
    _ access: OpenAccess,
    by caller: Caller,
    _ text: () throws(FileTreeError) -> [UInt8]
  ) throws(FileTreeError) -> OpenFile {
    let memory: MemoryFile?
    // Example: `: >f; echo '{"age": 9}' >>f`. The shell closes the empty file, which changes no object. The next write
    // must begin a new text instead of being appended to that of the object.
    var beginsAnew = access.truncates
    if let time = emptiedFiles.take(inode), try lastChange(inode) == time { beginsAnew = true }
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
    let draft = Draft(memory, of: target, for: realm.location.generation, reads: access.reads)
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

  /// Returns the target of a draft: the target of its handle, or the one that its name resolves to. Nil for a scratch
  /// file and for a file that is no longer in any directory.
  func target(of draft: Draft) throws(FileTreeError) -> (any DraftTarget)? {
    let memory = draft.memory
    if memory.role == .refusedText || memory.role == .formerText { return nil }
    if let target = draft.target ?? memory.object { return target }
    guard let place = tree.namespace.overlay.place(of: memory.inode) else { return nil }
    return try tree.namespace.draftTarget(of: place)
  }

  // MARK: writing

  /// Writes to a handle. Runs a command, and checks a complete text, but does not save it: shells and most programs
  /// ignore errors of `close`. If saving the text would be refused, the write fails with that error, the draft is
  /// refused, and its text is kept with the other refused texts.
  func write(_ file: OpenFile, _ bytes: [UInt8], at offset: Int, by caller: Caller?) throws(FileTreeError) {
    guard case .draft(let draft) = file.content, file.access.writes else {
      throw .refused(.forbidden, "not open for writing")
    }
    if let caller { tree.handles.openFiles.noteWriter(caller.process, file) }
    let memory = draft.memory, isKnown = memory.isRefused
    let isComplete: Bool
    do {
      isComplete = try memory.write(bytes, at: file.access.appends ? nil : offset, isWatched: file.isWatched)
    } catch {
      if !isKnown { noteFailedWrite(file, draft.target, error, by: caller ?? memory.owner) }
      throw error
    }
    if draft.target?.form == .command {
      if memory.hasRun { memory.noteKept() } else { try save(draft, by: caller) }
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
  /// intervenes.
  func check(_ draft: Draft, by caller: Caller) throws(FileTreeError) {
    guard let target = try target(of: draft) as? any TextTarget else { return }
    let memory = draft.memory
    var refusal: FileTreeError?
    do {
      try memory.exclusively { () throws(FileTreeError) in
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
      // If there is no room for a second copy of the text, it is checked at close.
      return
    }
    if let refusal { throw refusal }
  }

  /// Checks a text. Throws the error if it cannot be saved; returns nil if the error may be temporary.
  private func check(
    _ text: DraftText,
    _ target: any TextTarget,
    _ realmFile: Int?
  ) throws(FileTreeError) -> Applied? {
    try saver?.checkObstacles()
    do { return try tree.saves.check(text, as: target, for: realmFile) } catch {
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
  func noteEmptied(_ draft: Draft) {
    guard let target = draft.target, !target.takesEmptyText else { return }
    guard target.form == .object || target.form == .value else { return }
    let inode = draft.memory.inode
    // Without a readable object, there is nothing that a new text could replace.
    if let time = try? lastChange(inode) { emptiedFiles.note(inode, changed: time) }
  }

  /// Returns the time of the last change to the object that a file belongs to.
  private func lastChange(_ inode: InodeNumber) throws(FileTreeError) -> Timestamp {
    let attributes = try tree.namespace.node(inode).attributes(tree)
    return Timestamp(seconds: attributes.modifiedSeconds, nanoseconds: attributes.modifiedNanoseconds)
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
