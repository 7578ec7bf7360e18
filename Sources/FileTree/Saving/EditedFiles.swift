// Handles that write: their bytes are in memory, and closing or syncing them saves.
//
// A handle on an object has bytes of its own, so two programs that write to one object do not mix their texts; each
// save is a patch, and the last one wins property by property. Handles on a file in memory share its bytes.

import Glibc
import RealmNames
import RealmPages

extension TreeContext {
  /// Opens a file for writing: the handle gets bytes of its own, `text` at first, and closing it saves them to
  /// `target`.
  func openEdit(
    of inode: InodeNumber,
    _ name: [UInt8],
    _ target: any SaveTarget,
    _ access: OpenAccess,
    by caller: Caller,
    _ text: () throws(FileTreeError) -> [UInt8]
  ) throws(FileTreeError) -> OpenFile {
    let edit: MemoryFile?
    // `: >f; echo '{"age": 9}' >>f`: the object keeps its text when the shell closes the file empty, so what it appends
    // next would follow that.
    let wasEmptied = emptiedFiles.take(inode), beginsAnew = access.truncates || wasEmptied && access.appends
    if target.form == .lines {
      edit = overlay.detachedLines(inode, name, spool, .of(caller))
    } else {
      edit = overlay.detachedFile(inode, name, beginsAnew ? [] : try text(), .of(caller), form: target.form)
    }
    guard let edit else { throw .memoryIsShort }
    if beginsAnew { edit.truncate(to: 0) } else if access.appends { try edit.watchAppending() }
    let target = OpenedTarget(target, realm.standing.file)
    let decision = openFiles.open(
      inode,
      OpenFiles.Edit(memory: edit, target: target, reads: access.reads),
      for: caller.process
    )
    return OpenFile(
      inode,
      edit,
      target,
      access,
      decision,
      isWatched: target.form != .command,
      opener: caller.process
    )
  }

  /// The edit that a thread begins by opening a file with O_TRUNC. The kernel opens the file and then truncates it by
  /// inode number, on the same thread and without the handle.
  func beginning(of inode: InodeNumber, by caller: Caller) throws(FileTreeError) -> OpenFiles.Edit? {
    if let edit = openFiles.untouchedEdit(of: inode, by: caller.process) { return edit }
    // The file that became an object goes by another number.
    let shared = try node(inode).attributes(self).inode
    return shared == inode ? nil : openFiles.untouchedEdit(of: shared, by: caller.process)
  }

  /// Where lines go that are too many for memory; nil for a realm that is in memory itself.
  private var spool: SpoolFile? {
    realm.configuration.inMemoryIdentifier == nil && staged == nil
      ? SpoolFile(besideRealm: realm.configuration.path) : nil
  }

  // MARK: writing

  /// Lines are checked at the end of each write as long as they have no more bytes than that; more of them are not what
  /// a shell writes, and checking them each time would take longer and longer.
  private static let mostCheckedLines = 64 << 10

  /// Writes into a handle. Nothing is saved yet, but a command is carried out, and a text that is complete is checked:
  /// shells and most programs do not look at what `close` returns. If saving the text would be refused, the write fails
  /// in that way, the file is as it was before the write, and the refused text is kept where others are.
  func write(_ file: OpenFile, _ bytes: [UInt8], at offset: Int, by caller: Caller?) throws(FileTreeError) {
    guard case .memory(let memory, let target) = file.content, file.access.writes else {
      throw .refused(.forbidden, "not open for writing")
    }
    if let caller { openFiles.noteWriter(caller.process, file) }
    let writing: MemoryFile.Writing?
    do throws(FileTreeError) {
      writing = try memory.write(bytes, at: file.access.appends ? nil : offset, isWatched: file.isWatched)
    } catch {
      noteFailedWrite(file, target, error, by: caller ?? memory.owner)
      throw error
    }
    if let target, target.form == .command {
      if memory.isObeyed { memory.noteKept() } else { try save(memory, target, by: caller) }
    }
    guard let writing else { return }
    let isWhole =
      target?.form == .lines
      ? bytes.last == UInt8(ascii: "\n") && memory.unsavedSize <= Self.mostCheckedLines : writing.isDecided
    if isWhole { try check(memory, target, writing, by: caller ?? memory.owner) }
  }

  /// Notes why bytes could not be written, such as a lack of memory, once for a file.
  private func noteFailedWrite(
    _ file: OpenFile,
    _ target: (any SaveTarget)?,
    _ error: FileTreeError,
    by caller: Caller
  ) {
    let path: String?
    if let target {
      path = target.shownPlace(self)?.path
    } else {
      path = overlay.place(of: file.inode).map { shownPath(of: $0) }
    }
    let reason = Reason(error, of: caller.user)
    guard let path, !refusals.isReason(reason, of: path) else { return }
    note(path, target?.operation ?? "write", reason)
  }

  /// Refuses a write that completes a text which cannot be saved, or which no server is there for; without a write, a
  /// close that is not the last one.
  private func check(
    _ memory: MemoryFile,
    _ target: (any SaveTarget)?,
    _ writing: MemoryFile.Writing?,
    by caller: Caller
  ) throws(FileTreeError) {
    guard let target = try self.target(target, of: memory) else { return }
    var refusal: FileTreeError?
    do throws(FileTreeError) {
      try memory.inTurn { () throws(FileTreeError) -> Void in
        try memory.withContents(isText: target.form.isText) { (contents) throws(FileTreeError) -> Void in
          var isLasting = true
          do throws(FileTreeError) {
            try saver?.checkObstacles()
            isLasting = false
            try rehearse(try contents.bytes, as: target)
          } catch {
            guard isLasting || error.endsWrite else { return }
            refusal = error
            if let writing { memory.undo(writing, refused: error) }
            if memory.isNewRefusal(try contents.bytes) {
              refused(error, target, SaveRequest(contents, by: caller, name: memory.name))
            }
          }
        }
      }
    } catch {
      // Without room for a second copy of the text, closing the file has to judge it.
      return
    }
    if let refusal { throw refusal }
  }

  /// What saving a file changes: what its handle names, or what it is by its name. Nil if it is a scratch file, or is
  /// in no directory any more.
  func target(_ given: (any SaveTarget)?, of memory: MemoryFile) throws(FileTreeError) -> (any SaveTarget)? {
    if memory.role == .refusedText || memory.role == .formerText { return nil }
    if let target = given ?? memory.object { return target }
    guard let place = overlay.place(of: memory.inode) else { return nil }
    return try saveTarget(of: place)
  }

  /// Makes room for `count` bytes from `offset` on, by growing the file if `growing`.
  func allocate(_ file: OpenFile, offset: Int, count: Int, growing: Bool) throws(FileTreeError) {
    guard case .memory(let memory, _) = file.content, file.access.writes else {
      throw .refused(.forbidden, "not open for writing")
    }
    let (end, overflow) = offset.addingReportingOverflow(count)
    if overflow { throw .refused(.tooLarge, "no file can be that large") }
    if growing { memory.allocate(to: end) }
  }

  /// Sets the size of a file that was opened for that alone, and saves what that leaves; a size of 0 changes nothing.
  func resize(_ file: OpenFile, to size: Int, by caller: Caller) throws(FileTreeError) {
    defer { release(file) }
    guard case .memory(let memory, let target?) = file.content, memory.size != size else { return }
    if size == 0, !target.takesNothing {
      if target.form == .object { emptiedFiles.note(file.inode) }
      return
    }
    memory.truncate(to: size)
    try save(memory, target, by: caller)
  }

  // MARK: saving

  /// Saves what a handle has written, when the program that opened the file closes it, or the last one does. A file
  /// that was only emptied is not saved. What is refused is kept for `caller`, or for the one that opened the file.
  func flush(_ file: OpenFile, by caller: Caller?) throws(FileTreeError) {
    guard case .memory(let memory, let target) = file.content, file.access.writes else { return }
    if let caller, isClosedLater(file, target, by: caller) {
      // A command that wrote lines is told of a refusal, as far as that is known before all of them are there.
      if target?.form == .lines, memory.takeJudgement(each: Self.mostCheckedLines, most: Self.mostJudgedLines) {
        try check(memory, target, nil, by: caller)
      }
      return
    }
    defer { openFiles.settle(file) }
    try memory.inTurn { () throws(FileTreeError) in
      switch memory.progress {
      case .clean: return
      case .emptied:
        // A shell closes a file once before it writes to it, and again afterwards.
        let isSecond = memory.noteEmptyClose()
        if target?.form == .object { emptiedFiles.note(file.inode) }
        if isSecond, try self.target(target, of: memory)?.takesNothing ?? false {
          try saveInTurn(memory, target, by: caller)
        }
      case .refused(let error):
        takeBack(memory)
        throw error
      case .written: try saveInTurn(memory, target, by: caller)
      }
    }
  }

  /// Whether the program that opened a file has it open still while `caller` closes it. A shell closes a file once more
  /// with each command that it runs, and what all of them write is one text.
  private func isClosedLater(_ file: OpenFile, _ target: (any SaveTarget)?, by caller: Caller) -> Bool {
    if file.opener == 0 || caller.process == 0 { return false }
    let isOpener = caller.process == file.opener || caller.wholeProcess == Caller.process(of: file.opener)
    // Other texts are whole whenever their program closes them; lines are saved once, at the end.
    if isOpener, target?.form != .lines { return false }
    return Caller.hasOpen(file.shownInode, in: file.opener)
  }

  /// Lines beyond this size are judged when they have become twice as many since they were judged last, so that judging
  /// all of them costs as much as reading them a few times.
  private static let mostJudgedLines = 4 << 20

  /// Makes the view of the newest version, and the text of an object that was saved.
  func prepareNext(after file: OpenFile) {
    guard case .memory(let memory, let target) = file.content, memory.isWrittenTo else { return }
    do throws(FileTreeError) {
      if target != nil, let object = try node(file.inode) as? ObjectNode {
        _ = try object.attributes(self)
      } else {
        try read { _ in }
      }
    } catch {
      // Whoever asks is told.
    }
  }

  /// Saves what a handle has written, and waits until all that was ever saved is on disk. An empty file is refused like
  /// any other text that is none.
  func synchronize(_ file: OpenFile, by caller: Caller?) throws(FileTreeError) {
    if case .memory(let memory, let target) = file.content, file.access.writes {
      try memory.inTurn { () throws(FileTreeError) in
        switch memory.progress {
        case .clean: break
        case .refused(let error):
          takeBack(memory)
          throw error
        case .written, .emptied: try saveInTurn(memory, target, by: caller)
        }
      }
    }
    try saver?.synchronize()
  }

  /// Lets go of a handle. What it wrote and never saved, because no close was seen, is saved now.
  func release(_ file: OpenFile) {
    if case .memory(let memory, _) = file.content, memory.isUnsaved {
      do throws(FileTreeError) {
        // An emptied file that was closed once only: there was no writer after that.
        _ = memory.noteEmptyClose()
        try flush(file, by: nil)
      } catch {
        options.log?("a file could not be saved when it was closed: \(error)")
      }
    }
    openFiles.close(file)
    if case .changes(let stream) = file.content { changeStreams.close(stream) }
    // A file that was refused as an object has its text among the refused ones; its name is free again.
    if case .memory(let memory, nil) = file.content, memory.isRefused, !openFiles.isOpen(memory.inode),
      let place = overlay.place(of: memory.inode)
    {
      _ = overlay.unlink(place)
      takeBack(place)
    }
  }

  /// Saves a file that was emptied and closed, before it is opened again: that it was closed for good is known only
  /// later.
  func saveEmptied(_ inode: InodeNumber) throws(FileTreeError) {
    for edit in openFiles.edits(of: inode) where edit.memory.isClosedEmpty && edit.target?.takesNothing ?? false {
      try save(edit.memory, edit.target, by: nil)
    }
  }

  private func save(
    _ memory: MemoryFile,
    _ target: (any SaveTarget)?,
    by caller: Caller?
  ) throws(FileTreeError) {
    try memory.inTurn { () throws(FileTreeError) in try saveInTurn(memory, target, by: caller) }
  }

  private func saveInTurn(
    _ memory: MemoryFile,
    _ target: (any SaveTarget)?,
    by caller: Caller?
  ) throws(FileTreeError) {
    guard let target = try self.target(target, of: memory) else { return keep(memory) }
    try memory.withContents(asOne: target.form != .lines, isText: target.form.isText) {
      (contents) throws(FileTreeError) -> Void in
      do throws(FileTreeError) {
        let request = SaveRequest(contents, by: caller ?? memory.owner, name: memory.name)
        became(try save(request, as: target), memory)
        memory.noteSaved(contents)
      } catch {
        memory.noteRefused(contents, error)
        takeBack(memory)
        throw error
      }
    }
  }

  /// Leaves a file in memory.
  func keep(_ memory: MemoryFile) {
    memory.noteKept()
    keptFiles.note(memory.inode)
  }

  /// Brings back the object that was removed to make room for a file that is refused.
  private func takeBack(_ memory: MemoryFile) {
    if let place = overlay.place(of: memory.inode) { takeBack(place) }
  }

  /// Lets the realm's own file take the place of one in memory that was saved.
  func became(_ saved: SavedAs, _ memory: MemoryFile) {
    if case .object(let ordinal, let key, _) = saved { keepSettings(of: memory, for: key, in: ordinal) }
    if memory.role == .edit { return }
    switch saved {
    case .object(let ordinal, let key, _):
      memory.became(ObjectTarget(ordinal, key))
      overlay.becomeObject(memory.inode, ordinal, key)
    case .computed(let target, _):
      memory.became(target)
      if let place = overlay.place(of: memory.inode) { _ = overlay.unlink(place) }
    case .nothing: break
    }
  }

  /// Lets an object have the time, mode and group that a program set for the file that became it.
  private func keepSettings(of memory: MemoryFile, for key: ObjKey, in ordinal: TableOrdinal) {
    guard let settings = memory.takeSettings() else { return }
    let object = ObjectNode(views.number(ordinal, key), ordinal, key)
    do throws(FileTreeError) {
      if let time = settings.time { try object.setTime(time, self) }
      if settings.change.permissions != nil || settings.change.group != nil {
        try object.change(settings.change, self)
      }
    } catch {
      // The object is saved; another program has removed it since, so it has no time or mode.
    }
  }

  /// Saves what handles have written and could not be closed, before the tree goes away. The log names what cannot be
  /// saved.
  func finish() {
    transactions.endAll(options.log)
    for edit in openFiles.unsaved {
      do throws(FileTreeError) { try save(edit.memory, edit.target, by: nil) } catch {
        options.log?("a file that was still being written could not be saved: \(error)")
      }
    }
    takeBackKept()
    changeStreams.stop()
    snapshots.removeAll()
    do throws(FileTreeError) { try saver?.finish() } catch {
      options.log?("what was saved last is not on disk: \(error)")
    }
    for path in unsavedFiles() { options.log?("\(path): it was in memory only and is lost now") }
  }
}

extension FileTreeError {
  static let memoryIsShort = FileTreeError.refused(
    .noSpace,
    "scratch files, refused texts and files that are being written take all the memory that the mount has for them; "
      + ".realm/unsaved names those that can be removed"
  )

  /// Lines that could not be put beside the realm, or read from there.
  static func spool(_ error: EngineError) -> FileTreeError {
    let isFull = error.code == ENOSPC || error.code == EDQUOT
    return .refused(isFull ? .noSpace : .inputOutput, "lines that are being written: \(error)")
  }
}
